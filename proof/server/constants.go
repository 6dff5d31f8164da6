package server

import (
	"time"

	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// A Code is what a script says first in its reply.
type Code = proto.Code

// The codes.
const (
	Done      = proto.Done
	Given     = proto.Given
	Refused   = proto.Refused
	NotYours  = proto.NotYours
	InLine    = proto.InLine
	Overtaken = proto.Overtaken
)

// What the scripts and the library agree on. A test compares this with the scripts that are sent.
const (
	guards     = 1 << 52                 // the least score of a guard in a line
	numbers    = owners.LastNumber + 1   // of the requests of one owner
	guardLife  = 300                     // s
	nameLength = listen.NameLength       // of the id of a waiter
	waiterLife = 15_000                  // ms: for how long a waiter counts as alive that does not ask again
	asksAgain  = 5000                    // ms: a waiter need not be told when a lease is over that lasts longer
	mostTold   = 8                       // waiters of a line that are told when a lease is over, beside the first
	mostToken  = 512                     // bytes
	mostNumber = float64(int64(1) << 53) // up to where a script counts exactly
)

// What a script does at most at once.
const (
	mostGone  = 500 // entries of waiters that are gone
	mostEnded = 16  // readers of a key whose leases have ended
	block     = 15  // numbers less than that of a hold which may be passed on
	mostKept  = 256 // readers whose numbers stay where those of others are dropped
	mostFront = 64  // entries that are read together, and that a waiter who reads looks at for a writer
)

// How long the numbers of a key are kept, ms.
const (
	hour = int64(time.Hour / time.Millisecond)
	day  = 24 * hour
)
