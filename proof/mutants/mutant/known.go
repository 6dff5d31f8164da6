package mutant

// scripts are the numbers of scripts, by name. The runner writes this file anew.
var scripts = map[string]int{}
