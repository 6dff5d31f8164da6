//go:build before

package main

import "github.com/seed-14de3678/redislock"

// passing is never asked of the version before, which has no such option.
func passing() *redislock.Options { return nil }
