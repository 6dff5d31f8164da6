package world

import (
	"github.com/seed-14de3678/redislock"
)

// Fenced returns the options of a caller with a token that wants a fencing number.
func Fenced(token string) *redislock.Options { return &redislock.Options{Token: token, Fenced: true} }

// Queue returns the options of a caller that stands in line.
func Queue() *redislock.Options { return &redislock.Options{Queue: true} }

// Watched are the options of a lock that a watchdog renews.
var Watched = &redislock.Options{Watchdog: true}
