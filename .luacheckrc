-- For the scripts as `go run ./proof/assembled` writes them: with what they include, and with values in the place of
-- constants. So nothing has to be listed here, and what a script does not use is found.
std = "lua51"
max_line_length = 120
read_globals = { "KEYS", "ARGV", "redis" }
ignore = { "431", "432" } -- the functions of what is included name their arguments as scripts name their locals

-- What the sandbox of Redis, or the one of miniredis, does not give a script.
not_globals = {
  "debug", "dofile", "io", "loadfile", "module", "newproxy", "os", "package", "print", "require",
}
