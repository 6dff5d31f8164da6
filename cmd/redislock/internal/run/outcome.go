package run

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// An outcome is what --json says of a run.
type outcome struct {
	Keys   []cli.KeyName `json:"keys"`
	Fence  int64         `json:"fence"` // 0: none was taken
	Waited int64         `json:"waited_ms"`
	Held   int64         `json:"held_ms"` // 0: the lock was not obtained
	Ran    bool          `json:"ran"`     // the command was started
	Signal int           `json:"signal"`  // that has killed the command; 0: none
	Status int           `json:"status"`  // the exit status of redislock
	Error  string        `json:"error,omitempty"`
}

// tellOutcome writes the outcome in the place of a message, and returns an error that has the exit status alone. A wrong command
// line has no outcome.
func (s *session) tellOutcome(ctx context.Context, err error) error {
	err = cli.Explain(ctx, err)
	if _, ok := errors.AsType[cli.UsageError](err); ok {
		return err
	}
	now := time.Now()
	o := outcome{Keys: cli.NamesOf(s.keys), Waited: now.Sub(s.began).Milliseconds(), Ran: s.group != 0, Signal: s.killed}
	if s.hold != nil {
		o.Waited, o.Held, o.Fence = s.obtained.Sub(s.began).Milliseconds(), now.Sub(s.obtained).Milliseconds(), s.hold.Fence()
	}
	if err != nil {
		o.Status, o.Error = cli.Failed, err.Error()
	}
	if known, ok := errors.AsType[*cli.StatusError](err); ok {
		o.Status = known.Status
		if known.Err == nil {
			o.Error = s.told
		}
	}
	var line bytes.Buffer
	if failed := cli.WriteJSON(&line, o); failed != nil {
		return failed
	}
	s.tell.say("%s", &line)
	if err == nil {
		return nil
	}
	return cli.Exit(o.Status, nil)
}
