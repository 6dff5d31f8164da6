// The program works under a lock once a second, and shows on /debug/vars what becomes of its locks.
package main

import (
	"cmp"
	"context"
	"errors"
	"expvar"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// lockVars counts what happens to locks, each by Options.Name.
type lockVars struct {
	waiting, obtained, refused, released, lost, failed expvar.Map
	waited, worked                                     expvar.Map // seconds, all together

	mu   sync.Mutex
	held map[uint64]redislock.Event // the Obtained of each lock that is held, by Event.ID
}

func (v *lockVars) hooks() redislock.Hooks {
	return redislock.Hooks{
		Waiting: func(_ context.Context, e redislock.Event) { v.waiting.Add(e.Name, 1) },
		Waited: func(_ context.Context, e redislock.Event) {
			v.waiting.Add(e.Name, -1)
			v.waited.AddFloat(e.Name, e.Duration.Seconds())
		},
		Obtained: func(_ context.Context, e redislock.Event) {
			v.obtained.Add(e.Name, 1)
			v.mu.Lock()
			defer v.mu.Unlock()
			v.held[e.ID] = e
		},
		Refused: func(ctx context.Context, e redislock.Event) {
			v.refused.Add(e.Name, 1)
			v.check(ctx, e)
		},
		Refreshed: func(ctx context.Context, e redislock.Event) {
			v.check(ctx, e)
			v.mu.Lock()
			defer v.mu.Unlock()
			if held, ok := v.held[e.ID]; ok {
				held.Expires = e.Expires
				v.held[e.ID] = held
			}
		},
		Lost: func(_ context.Context, e redislock.Event) { v.end(e) },
		Released: func(ctx context.Context, e redislock.Event) {
			v.check(ctx, e)
			v.end(e)
		},
	}
}

// end counts the end of a lock: the first one, because a lock can be lost and then released.
func (v *lockVars) end(e redislock.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, held := v.held[e.ID]; !held || !e.Ended {
		return // it has ended before, or a part of it was freed
	}
	delete(v.held, e.ID)
	v.worked.AddFloat(e.Name, e.Held.Seconds())
	if errors.Is(e.Err, redislock.ErrLockLost) || errors.Is(e.Err, redislock.ErrLockNotHeld) {
		v.lost.Add(e.Name, 1)
	} else {
		v.released.Add(e.Name, 1)
	}
}

// check counts errors that are the server's: no conflict, and not the end of the caller's context.
func (v *lockVars) check(ctx context.Context, e redislock.Event) {
	var conflict *redislock.ConflictError
	if e.Err == nil || errors.As(e.Err, &conflict) || errors.Is(e.Err, redislock.ErrLockNotHeld) ||
		ctx.Err() != nil && errors.Is(e.Err, context.Cause(ctx)) {
		return
	}
	v.failed.Add(e.Name, 1)
}

// heldNow counts the locks that are held, and forgets those that nobody has released before they ended by themselves.
func (v *lockVars) heldNow() any {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := map[string]int{}
	for id, e := range v.held {
		if !e.Expires.IsZero() && time.Now().After(e.Expires) {
			delete(v.held, id)
		} else {
			now[e.Name]++
		}
	}
	return now
}

// publish shows everything under "redislock".
func (v *lockVars) publish() {
	all := expvar.NewMap("redislock")
	all.Set("held", expvar.Func(v.heldNow))
	for name, counts := range map[string]*expvar.Map{
		"waiting": &v.waiting, "obtained": &v.obtained, "refused": &v.refused, "released": &v.released, "lost": &v.lost,
		"server_errors": &v.failed, "wait_seconds": &v.waited, "hold_seconds": &v.worked,
	} {
		all.Set(name, counts)
	}
}

// run works until ctx ends.
func run(ctx context.Context, rdb *redis.Client, vars *lockVars, every time.Duration) {
	client := redislock.New(rdb, redislock.WithHooks(vars.hooks()))
	defer client.Close()
	for ctx.Err() == nil {
		err := client.With(ctx, []string{"lock:report"}, 10*time.Second, &redislock.Options{
			Name:          "report",
			RetryStrategy: redislock.LinearBackoff(every),
			Wait:          10 * every,
		}, func(context.Context) error {
			time.Sleep(every) // the work
			return nil
		})
		if err != nil {
			log.Print(err)
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "localhost:8080"))
	if err != nil {
		log.Fatal(err)
	}
	vars := &lockVars{held: map[uint64]redislock.Event{}}
	vars.publish()
	rdb := redis.NewClient(&redis.Options{Addr: cmp.Or(os.Getenv("REDIS"), "localhost:6379")})
	go run(context.Background(), rdb, vars, time.Second)
	log.Fatal(http.Serve(listener, nil)) // package expvar has registered /debug/vars
}
