std = "lua51"
max_line_length = 100
read_globals = { "KEYS", "ARGV", "redis" }

-- What the sandbox of Redis, or the one of miniredis, does not give a script.
not_globals = {
  "debug", "dofile", "io", "loadfile", "module", "newproxy", "os", "package", "print", "require",
}

-- The constants of internal/proto: in the source that is loaded their values stand for them.
local constants = {
  "DONE", "REFUSED", "NOT_YOURS", "IN_LINE", "OVERTAKEN",
  "CHUNK", "MOST", "MOST_TOKEN", "ASKS_AGAIN", "GUARDS", "NUMBERS", "GUARD_LIFE",
  "NAME", "MOST_TOLD",
}
for _, name in ipairs(constants) do
  table.insert(read_globals, name)
end

-- The top-level locals of the files that are put in front of other scripts when they are loaded.
-- luacheck sees each file alone, so a local that another script uses is listed here, and one that
-- goes from its file goes from here.
local defined_in = {
  ["common.lua"] = { "clock", "entry_text", "parts_of", "publish", "token_of" },
  ["values.lua"] = {
    "count", "delete", "is_left", "is_value", "left_value", "metadata_of", "mode_of", "refusal",
    "strings", "unlink",
  },
  ["readers.lua"] = { "add_reader", "end_lease", "extend_reader", "longer", "look", "reader", "see" },
  ["refusal.lua"] = { "also", "declare", "refused_at_once", "withdraw" },
  ["fence.lua"] = {
    "before", "forget_number", "life_of_fence", "next_number", "number_after", "number_of_hold",
    "up_to",
  },
  ["guard.lua"] = {
    "close", "drop_ended_guards", "home_line", "only_guards", "overtaken", "owner_id", "put_first",
    "read_stamp", "set_guard",
  },
  ["since.lua"] = { "since_of" },
  ["entry.lua"] = { "name_of" },
  ["enter.lua"] = { "enter_lines", "is_heard", "is_waited", "my_entries", "my_entry" },
  ["line.lua"] = {
    "and_more", "entry_at", "entry_of", "in_line", "leave_line", "may_drop", "more", "places", "plans",
    "refusal_by_waiter", "take_out", "tell", "text_at", "waiter_before", "walk", "wanted_by",
  },
  ["handover.lua"] = { "hand_over", "tell_heads" },
}

-- Those that the scripts set for the files that they include, or read from them.
globals = {
  "caller", "dropped", "free", "fronts", "heads", "held_for", "numbered", "searches", "seen", "size", "tell_first", "told",
  "unheard", "with_fences", "written",
}

for file, names in pairs(defined_in) do
  for _, name in ipairs(names) do
    table.insert(read_globals, name)
  end
  -- In the file itself these are locals, never globals, and most have their uses in the scripts
  -- after it.
  files["**/" .. file] = {
    ignore = { "211", "221", "231", "241" }, -- unused local variable or function; set or filled, never used
    not_globals = names,
  }
end
