// Package course is what the program levels and its workers agree on: the kinds of operation, and the lines that they
// exchange.
package course

import "time"

// An Act is what is done again and again.
type Act string

// The acts that there are.
const (
	Turn    Act = "turn"    // one Obtain, and its Release
	With    Act = "with"    // one With, whose function does nothing
	Refused Act = "refused" // one attempt at a key that somebody else holds
	Least   Act = "least"   // the same by the least script that gives the same reply
	Refresh Act = "refresh" // one Refresh of a lock
	Renew   Act = "renew"   // one renewal by the watchdog
)

// A Kind is a kind of operation.
type Kind struct {
	Name    string
	Act     Act
	Keys    int     // of the set
	Callers int     // who want the same set, each again and again
	Queue   bool    // they stand in line
	Fenced  bool    // each lock has a number
	Reads   int     // how many of the callers read
	Ends    bool    // the context of a call can end
	Ops     int     // of a block, a multiple of Callers
	Seldom  bool    // it has a block in every other round, because its blocks last long
	Most    float64 // what the server's time may be at most, by that of Beside; 0: there is no limit
	Beside  Beside
}

// Beside is what a limit refers to.
type Beside string

// The figures that limits refer to: of the same kind in the version that is called old, and of the kind Least in the tree.
const (
	Old    Beside = "old"
	Script Beside = "the least script"
)

// Kinds are all kinds of operation. The numbers of operations let a block last for 20 to 100 ms; that of renewals waits until
// they are due.
var Kinds = []Kind{
	{Name: "a turn, 8 callers", Act: Turn, Keys: 1, Callers: 8, Queue: true, Ops: 320, Most: .9, Beside: Old},
	{Name: "a turn, 64 callers", Act: Turn, Keys: 1, Callers: 64, Queue: true, Ops: 384, Most: .9, Beside: Old},
	{Name: "a fenced turn, 8 callers", Act: Turn, Keys: 1, Callers: 8, Queue: true, Fenced: true, Ops: 320, Most: 1, Beside: Old},
	{Name: "a fenced turn, 64 callers", Act: Turn, Keys: 1, Callers: 64, Queue: true, Fenced: true, Ops: 384, Most: 1, Beside: Old},
	{Name: "a turn of a set of 8, 8 callers", Act: Turn, Keys: 8, Callers: 8, Queue: true, Ops: 240, Most: 1, Beside: Old},
	{Name: "a turn of a set of 8, 64 callers", Act: Turn, Keys: 8, Callers: 64, Queue: true, Ops: 320, Most: 1, Beside: Old},
	{Name: "a turn, 4 readers and 4 writers", Act: Turn, Keys: 1, Callers: 8, Queue: true, Reads: 4, Ops: 320, Most: 1, Beside: Old},
	{Name: "a turn, 32 readers and 32 writers", Act: Turn, Keys: 1, Callers: 64, Queue: true, Reads: 32, Ops: 384, Most: 1, Beside: Old},
	{Name: "a free key", Act: Turn, Keys: 1, Callers: 1, Ops: 300, Most: 1, Beside: Old},
	{Name: "8 free keys", Act: Turn, Keys: 8, Callers: 1, Ops: 250, Most: 1, Beside: Old},
	{Name: "a free key, a context that can end", Act: Turn, Keys: 1, Callers: 1, Ends: true, Ops: 300},
	{Name: "a free key, to read", Act: Turn, Keys: 1, Callers: 1, Reads: 1, Ops: 300},
	{Name: "With of a free key", Act: With, Keys: 1, Callers: 1, Ops: 250},
	{Name: "a refused attempt", Act: Refused, Keys: 1, Callers: 1, Ops: 500, Most: 1.25, Beside: Script},
	{Name: "the least script with the reply of a refusal", Act: Least, Keys: 1, Callers: 1, Ops: 500},
	{Name: "a Refresh", Act: Refresh, Keys: 1, Callers: 1, Ops: 500},
	{Name: "a renewal by the watchdog", Act: Renew, Keys: 1, Callers: 1, Ops: 800, Seldom: true},
}

// An Order asks a worker for a block.
type Order struct {
	Kind int // index
	Ops  int
}

// A Usage is what the operations of a block have used.
type Usage struct {
	Ops      int
	Server   time.Duration // processor time of the server
	Client   time.Duration // processor time of the worker
	Allocs   int           // of the worker
	Bytes    int           // that the server has received and sent
	Commands int           // on the server, also those inside of scripts, without the calls of scripts
	Failed   string        `json:",omitempty"` // why there is no block; empty if there is one
}

// Less is what was used since before.
func (u Usage) Less(before Usage) Usage {
	u.Server -= before.Server
	u.Client -= before.Client
	u.Allocs -= before.Allocs
	u.Bytes -= before.Bytes
	u.Commands -= before.Commands
	return u
}
