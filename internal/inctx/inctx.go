// Package inctx says under what a context has the lock that a function runs under.
package inctx

import "context"

// Root is the key of the lock of the root package.
type Root struct{}

// As returns a context that ends with inner, and has the lock of the root package that outer has: for a
// package whose locks are made of several of these, which nobody is to find.
func As(outer, inner context.Context) context.Context {
	return context.WithValue(inner, Root{}, outer.Value(Root{}))
}
