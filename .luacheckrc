std = "lua51"
max_line_length = 100
read_globals = { "KEYS", "ARGV", "redis" }

-- What the sandbox of Redis, or the one of miniredis, does not give a script.
not_globals = {
  "debug", "dofile", "io", "loadfile", "module", "newproxy", "os", "package", "print", "require",
}

-- The top-level locals of shared.lua. It is put in front of the other scripts
-- when they are loaded; luacheck sees each file alone, so a local that another
-- script uses is listed here, and one that goes from shared.lua goes from here.
local defined_in_shared_lua = {
  "CHUNK", "add_reader", "clock", "declare", "expire_with_last_reader", "look", "metadata_of",
  "reader", "refusal", "strings", "token_of", "withdraw",
}

for _, name in ipairs(defined_in_shared_lua) do
  table.insert(read_globals, name)
end

-- In shared.lua itself these are locals, never globals, and most have their
-- uses in the scripts after it.
files["**/shared.lua"] = {
  ignore = { "211" }, -- unused local variable or function
  not_globals = defined_in_shared_lua,
}
