package world

import (
	"github.com/seed-14de3678/redislock"
)

// Fenced returns options of somebody with a token who wants a fencing number.
func Fenced(token string) *redislock.Options { return &redislock.Options{Token: token, Fenced: true} }

// Queue returns the options of somebody who stands in line.
func Queue() *redislock.Options { return &redislock.Options{Queue: true} }

// Watched are the options of a lock that is renewed by itself.
var Watched = &redislock.Options{Watchdog: true}
