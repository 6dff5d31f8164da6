package tune

import (
	"context"
	"errors"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// What the command and the processes of its load say to each other: one JSON object a line. A process is told a setup, then one
// order after another, and answers each of them. The end of what it reads is the end of the process.

// A setup says what a process plays.
type setup struct {
	URL      string // of the server; not among the arguments, where others would see its password
	Prefix   string
	Mark     string        // the metadata of every lock
	Policies []string      // as they are written
	Wait     time.Duration // how long an Obtain may wait; 0: as long as it likes
	Load     measure.Load  // its Workers are those of this process
}

// An order is one slice.
type order struct {
	Policy int
	measure.Slice
}

// An answer is what a process says of an order, or of its setup.
type answer struct {
	Seen   measure.Part
	Error  string // why there is no more; empty: all went well
	Status int    // the exit status for it
}

// answerOf says what was seen, or what went wrong.
func answerOf(ctx context.Context, seen measure.Part, err error) answer {
	if err == nil {
		return answer{Seen: seen}
	}
	err = cli.Explain(ctx, err)
	a := answer{Error: err.Error(), Status: cli.Failed}
	if e, ok := errors.AsType[*cli.StatusError](err); ok {
		a.Status = e.Status
	}
	return a
}

// err is what went wrong, as the process has said it.
func (a *answer) err() error {
	if a.Error == "" {
		return nil
	}
	return cli.Exit(a.Status, errors.New(a.Error))
}
