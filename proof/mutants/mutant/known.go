package mutant

// Places is how many places and scripts there are. The runner writes this file anew.
const Places = 0

// scripts are the numbers of scripts, by name.
var scripts = map[string]int{}
