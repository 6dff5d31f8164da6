package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed least.lua
var leastLua string

var least = redis.NewScript(leastLua)

// A leastLine has the callers of this process hand one key on, in the order in which they came: one script a turn, and nothing that a
// library has to see to. No lock whose turns Redis knows of has fewer commands.
type leastLine struct {
	rdb *redis.Client

	mu      sync.Mutex
	held    bool
	last    int
	waiting []*leastWaiter
}

// A leastWaiter is a caller who waits.
type leastWaiter struct {
	value string
	turn  chan error // gets nil when the key is the caller's
}

func (l *leastLine) take(ctx context.Context, key string) (free, error) {
	l.mu.Lock()
	l.last++
	w := &leastWaiter{value: fmt.Sprintf("%022d", l.last), turn: make(chan error, 1)}
	waits := l.held
	if l.held = true; waits {
		l.waiting = append(l.waiting, w)
	}
	l.mu.Unlock()
	if waits {
		if err := <-w.turn; err != nil {
			return nil, err
		}
	} else if err := l.rdb.Set(ctx, key, w.value, ttl).Err(); err != nil {
		return nil, l.fail(err)
	}
	return func(ctx context.Context) error { return l.free(ctx, key, w.value) }, nil
}

// free hands the key on. If nobody waits, those who come meanwhile wait until it is free.
func (l *leastLine) free(ctx context.Context, key, value string) error {
	l.mu.Lock()
	if len(l.waiting) == 0 {
		defer l.mu.Unlock()
		l.held = false
		return l.hand(ctx, key, value, "")
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.mu.Unlock()
	if err := l.hand(ctx, key, value, next.value); err != nil {
		next.turn <- err
		return l.fail(err)
	}
	next.turn <- nil
	return nil
}

func (l *leastLine) hand(ctx context.Context, key, value, next string) error {
	done, err := least.Run(ctx, l.rdb, []string{key}, value, next, ttl.Milliseconds()).Int()
	if err == nil && done != 1 {
		err = errors.New("the holder does not have the key")
	}
	return err
}

// fail tells all who wait that something went wrong.
func (l *leastLine) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w.turn <- err
	}
	l.waiting = nil
	return err
}
