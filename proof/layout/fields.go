package main

import (
	"fmt"
	"go/types"
	"strings"
)

// leaves counts the fields of a struct of the root package. A field that is a struct of this module by value, embedded or not,
// counts as the fields of that struct. What is behind a pointer, in a slice or in a map counts as one, and so does a moment,
// which is one value on two clocks.
func (t *tree) leaves(name string) (int, error) {
	object := t.types.Scope().Lookup(name)
	if object == nil {
		return 0, fmt.Errorf("the root package has no type %s: figures.go has to name the one that took its place", name)
	}
	fields, found := object.Type().Underlying().(*types.Struct)
	if !found {
		return 0, fmt.Errorf("%s is no struct", name)
	}
	return leavesOf(fields), nil
}

func leavesOf(of *types.Struct) (n int) {
	for field := range of.Fields() {
		n += leavesOfType(field.Type())
	}
	return n
}

func leavesOfType(of types.Type) int {
	if array, found := of.Underlying().(*types.Array); found {
		return leavesOfType(array.Elem()) // however long it is
	}
	fields, found := of.Underlying().(*types.Struct)
	if !found {
		return 1
	}
	if named, found := types.Unalias(of).(*types.Named); found && (!isOurs(named.Obj().Pkg()) || isMoment(named)) {
		return 1
	}
	return leavesOf(fields)
}

func isMoment(of *types.Named) bool {
	return of.Obj().Pkg().Path() == module+"/internal/clock" && of.Obj().Name() == "Moment"
}

// isOurs reports whether a package is one of this module.
func isOurs(p *types.Package) bool {
	return p != nil && strings.HasPrefix(p.Path()+"/", module+"/")
}
