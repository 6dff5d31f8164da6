// Package task is what the program turns and its workers agree on: the lines that they exchange.
package task

import (
	"time"

	"github.com/seed-14de3678/redislock/internal/turns"
)

// PassOn is how long those pass a lock on who do that.
const PassOn = 50 * time.Millisecond

// A Way is how a caller gets a key.
type Way string

// The ways that there are.
const (
	InLine  Way = "in line"
	Passing Way = "in line, with PassOn"
	Polling Way = "polling"
	Once    Way = "once" // one attempt
	BSM     Way = "bsm/redislock"
	Rueidis Way = "rueidislock"
	Least   Way = "the least script" // one that hands the key on: see least.lua
	Mutex   Way = "a mutex"          // in the memory of the worker, without Redis
)

// An Act is what a worker is told to do.
type Act string

// The acts that there are.
const (
	Start Act = "start" // has callers obtain a key and release it, again and again
	Read  Act = "read"  // says what they have done so far
	Stop  Act = "stop"  // has them go, and returns when they have
	Weigh Act = "weigh" // says how much memory is in use
)

// An Order is a line to a worker. What stands below Do belongs to Start.
type Order struct {
	Do       Act
	Way      Way           `json:",omitempty"`
	Addr     string        `json:",omitempty"` // of the server
	Key      string        `json:",omitempty"`
	Callers  int           `json:",omitempty"`
	Hold     time.Duration `json:",omitempty"`
	Interval time.Duration `json:",omitempty"` // after which those ask again who poll
	Light    bool          `json:",omitempty"` // one connection with small buffers: those of go-redis weigh as much as many waiters
}

// A Reading is the answer to each order: turns since the answer before, and what the worker has used since its start.
type Reading struct {
	turns.Shares
	Failed string        `json:",omitempty"` // what went wrong
	CPU    time.Duration // of the worker
	Allocs uint64        // by the worker
	Heap   uint64        // bytes that are in use at the moment; after a Start that is Light, before anybody had come
}

// Failure is what went wrong.
func (r Reading) Failure() string { return r.Failed }
