package check

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Around is a hook that does something around the commands of a Redis client. Functions that are nil do nothing.
// Commands of a pipeline are seen like single ones: Before, Instead and After are called for each of them.
type Around struct {
	// Before sees a command that is to be sent.
	Before func(cmd redis.Cmder)
	// Instead may answer a command instead of the server. It reports whether it has.
	Instead func(cmd redis.Cmder) bool
	// Send has commands sent that go together. If it returns another error than send, or sends nothing, all of them get
	// that error, even commands that the server has answered.
	Send func(cmds []redis.Cmder, send func([]redis.Cmder) error) error
	// After sees a command that has its answer. It may replace the answer by an error.
	After func(cmd redis.Cmder)
}

// DialHook lets connections pass.
func (a Around) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook passes a command by itself.
func (a Around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return a.pass([]redis.Cmder{cmd}, func([]redis.Cmder) error {
			err := next(ctx, cmd)
			cmd.SetErr(err) // as go-redis does it, but later
			return err
		})
	}
}

// ProcessPipelineHook passes the commands of a pipeline.
func (a Around) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return a.pass(cmds, func(cmds []redis.Cmder) error { return next(ctx, cmds) })
	}
}

func (a Around) pass(cmds []redis.Cmder, send func([]redis.Cmder) error) (err error) {
	each(cmds, a.Before)
	sent := cmds
	if a.Instead != nil {
		sent = slices.DeleteFunc(slices.Clone(cmds), a.Instead)
	}
	switch {
	case len(sent) == 0:
	case a.Send == nil:
		err = send(sent)
	default:
		err = a.send(sent, send)
	}
	each(cmds, a.After)
	for _, cmd := range slices.Backward(cmds) {
		err = cmp.Or(cmd.Err(), err)
	}
	return err
}

func (a Around) send(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	var answered error
	err := a.Send(cmds, func(cmds []redis.Cmder) error {
		answered = send(cmds)
		return answered
	})
	if err != answered { //nolint:errorlint // the very same
		each(cmds, func(cmd redis.Cmder) { cmd.SetErr(err) })
	}
	return err
}

func each(cmds []redis.Cmder, see func(redis.Cmder)) {
	if see == nil {
		return
	}
	for _, cmd := range cmds {
		see(cmd)
	}
}

// Answer answers a command with a value, or an error. It returns true, as Instead does then.
func Answer(cmd redis.Cmder, reply any) bool {
	if err, failed := reply.(error); failed {
		cmd.SetErr(err)
	} else {
		cmd.(interface{ SetVal(any) }).SetVal(reply)
	}
	return true
}

// Among reports whether one of the commands runs one of these scripts.
func Among(cmds []redis.Cmder, scripts ...string) bool {
	return slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return RunIn(cmd).Of(scripts...) })
}

// Slow is a hook that delays each command, or the commands of a pipeline together, for so long before they are sent.
func Slow(wait time.Duration) Around {
	return Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		time.Sleep(wait)
		return send(cmds)
	}}
}

// Count counts the commands with this prefix of their names that a client sends from now on.
func Count(rdb interface{ AddHook(redis.Hook) }, prefix string) *atomic.Int64 {
	n := new(atomic.Int64)
	rdb.AddHook(Around{Before: func(cmd redis.Cmder) {
		if strings.HasPrefix(cmd.Name(), prefix) {
			n.Add(1)
		}
	}})
	return n
}

type page struct{}

// OnPage returns a context by which a test tells where it was passed on to.
func OnPage(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, page{}, name)
}

// PageOf returns the name that OnPage gave to a context; empty if it did not.
func PageOf(ctx context.Context) string {
	name, _ := ctx.Value(page{}).(string)
	return name
}

// Seeing is a hook of a Redis client that is called with the context of each single command before it is sent.
type Seeing func(ctx context.Context, cmd redis.Cmder)

// DialHook lets connections pass.
func (s Seeing) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook sees a command.
func (s Seeing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook lets commands pass that are sent together: they have no context of their own.
func (s Seeing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
