-- For the scripts as `go run ./proof/assembled` writes them: with what they include, and with values in the place of
-- constants. So nothing has to be listed here, and what a script does not use is found.
std = "lua51"
max_line_length = 120
read_globals = { "KEYS", "ARGV", "redis" }
ignore = { "431", "432" } -- the functions of what is included name their arguments as scripts name their locals
for _, unused in ipairs({ "211/value", "211/ttl", "211/stamp", "231/letters", "311/w" }) do
  table.insert(ignore, unused) -- a head is read whole
end

-- What the sandbox of Redis, or the one of miniredis, does not give a script.
not_globals = {
  "debug", "dofile", "io", "loadfile", "module", "newproxy", "os", "package", "print", "require",
}
