std = "lua51"
max_line_length = 100
read_globals = { "KEYS", "ARGV", "redis" }

-- What the sandbox of Redis, or the one of miniredis, does not give a script.
not_globals = {
  "debug", "dofile", "io", "loadfile", "module", "newproxy", "os", "package", "print", "require",
}

-- The local functions of shared.lua. It is put in front of other scripts when
-- they are loaded; luacheck sees each file alone, so a function defined there
-- is listed here to be known in the others: { "owner_of", "remaining" }.
local defined_in_shared_lua = {}

for _, name in ipairs(defined_in_shared_lua) do
  table.insert(read_globals, name)
end

-- shared.lua uses few of its own functions: the scripts after it do. There
-- they are locals that no global may stand for.
files["**/shared.lua"] = {
  ignore = { "211" }, -- unused local variable or function
  not_globals = defined_in_shared_lua,
}
