// Package contract has what every lock of this repository promises, in each of its packages. The tests of each package
// call [Run] with a [Maker] that has what is particular to the package. Tests of parts, nodes, re-entrance and scripts
// are where these belong.
//
// Each case has servers of its own, inside a bubble of testing/synctest, where time passes at once when all wait. Only
// the hammer has real servers.
package contract

import (
	"context"
	"crypto/fips140"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A Maker makes the locks of one package.
type Maker struct {
	Kind
	// New makes what one case needs. The hooks are told of its locks. Each call of server starts another server.
	New func(t *testing.T, server func() redistest.Backend, hooks redislock.Hooks) Rig

	// The fields below say what a package promises differently from the others.

	NoQueue       Because // Options.Queue is refused
	NoLeave       Because // a lock has no Leave
	NeverShortens Because // a Refresh makes no lease shorter
	Quiet         Because // what needs no server is no event
	AlwaysWatched Because // a loss is told even if nobody has asked to be told
	ToldAtOnce    Because // a loss is told at once, so no Release is the first to find it
	RefusedIfLost Because // a lock that is lost before its Obtain returns is not returned
}

// A Because is the sentence that says why a package promises something else. It is empty if the package does not do so.
type Because string

func (b Because) holds() bool { return b != "" }

// A Rig is what one case has.
type Rig struct {
	Locks Locks
	// Servers are Redis clients that meet no fault. Each of their servers has every key of a lock.
	Servers []*redis.Client
	Clients []any // that may be printed

	// Lose takes a key away from its holder. Default: it is deleted on all servers.
	Lose func(t *testing.T, key string)
	// Fail has all servers answer every request with an error, or no longer if the text is empty. Default: the servers
	// that the function server has made do so.
	Fail func(text string)
}

// Locks obtains, as a held.Obtainer does.
type Locks interface {
	ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (held.Lock, error)
	WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
}

// A Kind is a type of locks.
type Kind struct {
	find   func(context.Context) held.Lock // nil if there is none
	nobody map[string]held.Lock            // locks that no Obtain has returned
}

// KindOf returns the kind of locks that the FromContext of a package finds.
func KindOf[L interface {
	comparable
	held.Lock
}](fromContext func(context.Context) L) Kind {
	var none L
	zero, _ := reflect.New(reflect.TypeFor[L]().Elem()).Interface().(held.Lock)
	return Kind{
		find: func(ctx context.Context) held.Lock {
			if lock := fromContext(ctx); lock != none {
				return lock
			}
			return nil
		},
		nobody: map[string]held.Lock{"nil": none, "zero": zero},
	}
}

// Run tests the locks of a package.
func Run(t *testing.T, m Maker) {
	t.Helper()
	for name, subject := range map[string]func(t *testing.T, m Maker){
		"with": with, "loss": loss, "wait": wait, "hold at least": holdAtLeast, "leave": leave, "release": release,
		"refresh": refresh, "context": contexts, "hooks": hooks, "waiting": waiting, "nobody": nobody, "print": prints, "hammer": hammer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject(t, m)
		})
	}
}

// mostTime is longer than any case takes, in virtual time: a case that waits for ever beside a watchdog would never
// end.
const mostTime = 3 * time.Hour

// in runs a case in a bubble.
func (m Maker) in(t *testing.T, name string, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if fips140.Enforced() {
			t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
		}
		synctest.Test(t, func(t *testing.T) {
			r := m.rig(t, redislock.Hooks{})
			end := time.AfterFunc(mostTime, func() { panic(t.Name() + " does not end") })
			defer end.Stop()
			test(t, r)
			r.story.wantOrder(t)
		})
	})
}

// rig makes a rig of servers inside the bubble. The hooks are told before the story is.
func (m Maker) rig(t *testing.T, first redislock.Hooks) *rig {
	t.Helper()
	r := &rig{maker: m, keys: []string{"a", "b", "c"}}
	var minis []*redistest.Mini
	r.Rig = m.New(t, func() redistest.Backend {
		mini := redistest.PipeMini(t)
		minis = append(minis, mini)
		return mini
	}, first.And(r.story.hooks()))
	if r.Lose == nil {
		r.Lose = r.delete
	}
	if r.Fail == nil {
		r.Fail = func(text string) {
			for _, mini := range minis {
				mini.Miniredis().SetError(text)
			}
		}
	}
	for _, server := range r.Servers {
		client := redislock.New(server)
		t.Cleanup(client.Close)
		r.others = append(r.others, client)
	}
	return r
}
