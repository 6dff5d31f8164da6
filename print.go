package redislock

import (
	"log/slog"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/shown"
)

// String says what the lock holds, and for how much longer it is certain. It never has the token.
func (l *Lock) String() string { return l.shown().String() }

// GoString is String for the verb %#v.
func (l *Lock) GoString() string { return "*redislock.Lock(" + l.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (l *Lock) LogValue() slog.Value { return l.shown().LogValue() }

func (l *Lock) shown() shown.Lock {
	if l.isNothing() {
		return shown.Lock{}
	}
	l.mu.Lock()
	set, state, attached := l.set, l.state, l.obtained == (clock.Moment{})
	l.mu.Unlock()
	keys := set.shown()
	of := shown.Lock{Write: keys[:set.write], Read: keys[set.write:], Until: l.Deadline()}
	if attached {
		of = shown.Lock{Unknown: keys, Until: of.Until}
	}
	switch state {
	case released:
		of.Ended = "released"
	case lost:
		of.Ended = "lost"
	}
	return of
}
