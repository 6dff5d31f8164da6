package wire

import (
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// IsGoRedis reports whether a Redis client is exactly one of the clients of go-redis. A client that embeds one may have
// an Eval of its own, and its Process and its Pipeline would go past that.
func IsGoRedis(rdb any) bool {
	switch rdb.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// A pooled client says how many connections it has given up: go-redis sends nothing again while it keeps its
// connection.
type pooled interface{ PoolStats() *redis.PoolStats }

// pools returns what can say so for a client, or for what it wraps.
func pools(rdb redis.Scripter, wraps GoRedis) (known pooled) {
	if wraps != nil {
		return wraps
	}
	known, _ = rdb.(pooled)
	if known != nil {
		// A client with its own Eval may embed another one that is nil, which nobody else asks.
		defer func() {
			if recover() != nil {
				known = nil
			}
		}()
		known.PoolStats()
	}
	return known
}

// resendPause is how long an unknown client waits at least before it sends a command again: go-redis waits 8 ms, if it
// is not told otherwise.
const resendPause = 5 * time.Millisecond

// A sending is one call of a client that may send it again by itself.
type sending struct {
	at   clock.Moment
	lost uint32 // connections that it had given up by then
}

func (d plainClient) sending() sending {
	s := sending{at: clock.Now()}
	if d.pools != nil {
		s.lost = d.pools.PoolStats().StaleConns
	}
	return s
}

// mayBeTwice reports whether an answered request may have been sent more than once, so that an earlier copy may still
// reach the server.
func (d plainClient) mayBeTwice(s sending) bool {
	if d.pools != nil {
		return d.pools.PoolStats().StaleConns != s.lost
	}
	return clock.Now().Since(s.at) >= resendPause
}

// A plainClient sends commands one by one, by Eval and EvalSha of a client that is otherwise not known. Such a client
// may send a command again without saying so, and so may what it wraps.
type plainClient struct {
	rdb   redis.Scripter
	pools pooled // nil: it does not say
}

func (d plainClient) send(commands []command, withSource func(command) bool) {
	if len(commands) == 1 {
		d.sendOne(commands[0], withSource(commands[0]))
		return
	}
	var wg sync.WaitGroup
	for _, p := range commands {
		source := withSource(p)
		wg.Go(func() { d.sendOne(p, source) })
	}
	wg.Wait()
}

func (d plainClient) sendOne(p command, withSource bool) {
	began := d.sending()
	p.prepare(began.at, withSource)
	ctx, script := p.context(), p.script()
	keys, args := operands(p.cmd().Args())
	var cmd *redis.Cmd
	if withSource {
		cmd = d.rdb.Eval(ctx, script.Source(), keys, args...)
	} else {
		cmd = d.rdb.EvalSha(ctx, script.SHA(), keys, args...)
	}
	if cmd == nil {
		p.SetErr(fmt.Errorf("redislock: %T returned no command", d.rdb))
	} else {
		p.cmd().SetVal(cmd.Val())
		p.SetErr(cmd.Err())
	}
	err := p.Err()
	// An error may be the result of the last of several tries: an earlier one may have been executed.
	failed := err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT")
	// Such a client may also return when the context has ended, whether the request was sent or not.
	twice := d.mayBeTwice(began) || failed && ctx.Err() != nil
	for _, c := range p.calls() {
		if failed {
			c.noteUnanswered()
		}
		c.twice = c.twice || twice
	}
}

// operands takes the keys and the arguments out of a command, as the strings and numbers that a wrapper of a client
// expects.
func operands(command []any) (keys []string, args []any) {
	args = make([]any, 0, len(command)-2)
	for _, arg := range command[2:] {
		switch arg := arg.(type) {
		case *string:
			args = append(args, *arg)
		case *int64:
			args = append(args, *arg)
		default:
			args = append(args, arg)
		}
	}
	n := args[0].(int)
	for _, key := range args[1 : n+1] {
		keys = append(keys, key.(string))
	}
	return keys, args[n+1:]
}
