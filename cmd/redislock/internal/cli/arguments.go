package cli

import "strings"

// NoArguments is the error of a command that takes none, if there are some.
func NoArguments(args []string) error {
	if len(args) > 0 {
		return Usagef("unexpected argument %s", Text(args[0]))
	}
	return nil
}

// OnePattern returns the pattern among the arguments, empty if there is none.
func OnePattern(args []string) (string, error) {
	switch {
	case len(args) > 1:
		return "", Usagef("there is one pattern at most, and here are %d; quote it, so that the shell does not take it for names of files", len(args))
	case len(args) == 1 && args[0] == "":
		return "", Usagef("the pattern is empty")
	}
	return strings.Join(args, ""), nil
}

// Keys returns each key among the arguments once. There has to be one.
func Keys(args []string) (keys []string, err error) {
	if len(args) == 0 {
		return nil, Usagef("no key is given")
	}
	given := make(map[string]bool, len(args))
	for i, key := range args {
		switch {
		case key == "":
			return nil, Usagef("key %d is empty", i+1)
		case !given[key]:
			keys = append(keys, key)
		}
		given[key] = true
	}
	return keys, nil
}
