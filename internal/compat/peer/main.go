// Peer does with locks what it is told on its standard input: see the package compat. Its arguments are
// the address of the server, and for the tree alone a prefix of its keys. When its input ends so does the
// peer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/compat"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Args[1]})
	p := &peer{
		client: redislock.New(rdb, options(os.Args[2:])...), out: json.NewEncoder(os.Stdout),
		locks: map[string]*redislock.Lock{}, under: map[int]context.CancelFunc{}, rdb: rdb,
	}
	rdb.AddHook(&p.faults)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var request compat.Request
		if err := json.Unmarshal(in.Bytes(), &request); err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		ctx := p.begin(request.ID)
		go p.do(ctx, request)
	}
	p.client.Close()
	_ = rdb.Close() // the process ends
}

type peer struct {
	client *redislock.Client
	rdb    *redis.Client
	faults faults

	mu    sync.Mutex
	out   *json.Encoder
	locks map[string]*redislock.Lock
	under map[int]context.CancelFunc // requests under way
}

func (p *peer) begin(id int) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under[id] = cancel
	return ctx
}

// do does one request and says how it ended.
func (p *peer) do(ctx context.Context, request compat.Request) {
	var reply compat.Reply
	err := p.run(ctx, request, &reply)
	reply.ID = request.ID
	if err != nil {
		explain(err, &reply)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under[request.ID]()
	delete(p.under, request.ID)
	if err := p.out.Encode(reply); err != nil {
		os.Exit(1) // nobody is there any more
	}
}

func (p *peer) run(ctx context.Context, request compat.Request, reply *compat.Reply) error {
	switch request.Op {
	case compat.Obtain:
		return p.obtain(ctx, request, reply)
	case compat.Attach:
		p.keep(request.Lock, p.client.Attach(request.Write, request.Token))
		return nil
	case compat.Inspect:
		return p.inspect(ctx, request, reply)
	case compat.Break:
		return breaks(ctx, p.client, request.Write, reply)
	case compat.Lose, compat.Hold:
		p.faults.next.Store(&request.Op)
		return nil
	case compat.Late:
		late, err := p.rdb.Do(ctx, p.faults.held.Load().([]any)...).Result()
		reply.Metadata = fmt.Sprint(late)
		return err
	case compat.Cancel:
		p.mu.Lock()
		defer p.mu.Unlock()
		if cancel := p.under[request.Number]; cancel != nil {
			cancel()
		}
		return nil
	}
	p.mu.Lock()
	lock := p.locks[request.Lock]
	p.mu.Unlock()
	return hold(ctx, lock, request, reply)
}

// hold does what concerns a lock that is there.
func hold(ctx context.Context, lock *redislock.Lock, request compat.Request, reply *compat.Reply) (err error) {
	switch request.Op {
	case compat.Refresh:
		return lock.Refresh(ctx, request.TTL)
	case compat.Renewed:
		reply.TTL, err = lock.TTL(ctx)
		return err
	case compat.Downgrade:
		return lock.Downgrade(ctx)
	case compat.Upgrade:
		err = lock.Upgrade(ctx)
		reply.Fence = lock.Fence()
		return err
	case compat.Raise:
		err = lock.RaiseFence(ctx, request.Fence)
		reply.Fence = lock.Fence()
		return err
	case compat.Part:
		return releaseKeys(ctx, lock, request.Write)
	case compat.Release:
		return lock.Release(ctx)
	case compat.Leave:
		return any(lock).(interface {
			Leave(ctx context.Context, ttl time.Duration) error
		}).Leave(ctx, request.TTL)
	case compat.Lost:
		select {
		case <-lock.Lost():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("no operation %q", request.Op)
}

func (p *peer) obtain(ctx context.Context, request compat.Request, reply *compat.Reply) error {
	opt := &redislock.Options{
		Queue: request.Queue, Watchdog: request.Watchdog, Intent: request.Intent, Fenced: request.Fenced,
		Token: request.Token, Metadata: request.Metadata,
		RetryStrategy: redislock.LinearBackoff(request.Poll),
	}
	lock, err := p.client.ObtainMixed(ctx, request.Write, request.Read, request.TTL, opt)
	if err != nil {
		return err
	}
	p.keep(request.Lock, lock)
	reply.Fence, reply.TTL = lock.Fence(), time.Until(lock.Deadline())
	if !request.Secret {
		reply.Token = lock.Token()
	}
	return nil
}

func (p *peer) inspect(ctx context.Context, request compat.Request, reply *compat.Reply) error {
	states, err := inspect(ctx, p.client, request.Write)
	if err != nil {
		return err
	}
	state := states[0]
	reply.Key, reply.Mode, reply.Waiters = state.Key, string(state.Mode), len(state.Line)
	reply.Fence, reply.TTL = state.Fence, state.TTL
	if len(state.Holders) > 0 {
		reply.Metadata, reply.Left, reply.Since = state.Holders[0].Metadata, left(state.Holders[0]), since(state.Holders[0])
	}
	return nil
}

// releaseKeys and inspect call methods to which the earlier version is given keys one by one.
func releaseKeys(ctx context.Context, lock any, keys []string) error {
	if lock, ok := lock.(interface {
		ReleaseKeys(ctx context.Context, keys ...string) error
	}); ok {
		return lock.ReleaseKeys(ctx, keys...)
	}
	return lock.(interface {
		ReleaseKeys(ctx context.Context, keys []string) error
	}).ReleaseKeys(ctx, keys)
}

func inspect(ctx context.Context, client any, keys []string) ([]redislock.KeyState, error) {
	if client, ok := client.(interface {
		Inspect(ctx context.Context, keys ...string) ([]redislock.KeyState, error)
	}); ok {
		return client.Inspect(ctx, keys...)
	}
	return client.(interface {
		Inspect(ctx context.Context, keys []string) ([]redislock.KeyState, error)
	}).Inspect(ctx, keys)
}

func (p *peer) keep(name string, lock *redislock.Lock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks[name] = lock
}

// explain puts an error into a reply.
func explain(err error, reply *compat.Reply) {
	reply.Error = err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		reply.Is = compat.Cancelled
	case errors.Is(err, redislock.ErrNotObtained):
		reply.Is = compat.NotObtained
	case errors.Is(err, redislock.ErrLockNotHeld):
		reply.Is = compat.NotHeld
	case errors.Is(err, redislock.ErrUnknownOutcome):
		reply.Is = compat.Unknown
	}
	if conflict, ok := errors.AsType[*redislock.ConflictError](err); ok {
		reply.Key, reply.Mode, reply.Metadata = conflict.Key, string(conflict.Mode), conflict.Metadata
		reply.TTL, reply.Left = conflict.TTL, left(*conflict)
	}
}

// left is the field Left of a conflict or a holder, which the earlier version has not.
func left(of any) bool {
	field := reflect.ValueOf(of).FieldByName("Left")
	return field.IsValid() && field.Bool()
}

// since is the field Since of a holder, which the earlier version has not.
func since(of redislock.Holder) (at time.Time) {
	if field := reflect.ValueOf(of).FieldByName("Since"); field.IsValid() {
		at = field.Interface().(time.Time)
	}
	return at
}
