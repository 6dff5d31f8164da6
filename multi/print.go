package multi

import (
	"log/slog"

	"github.com/seed-14de3678/redislock/internal/shown"
)

// String says what the lock holds, and for how much longer all of it is certain. It never has the token.
func (l *Lock) String() string { return l.shown().String() }

// GoString is String for the verb %#v.
func (l *Lock) GoString() string { return "*multi.Lock(" + l.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (l *Lock) LogValue() slog.Value { return l.shown().LogValue() }

func (l *Lock) shown() shown.Lock {
	if l.isNothing() {
		return shown.Lock{}
	}
	of := shown.Lock{Until: l.Deadline()}
	for _, p := range l.parts {
		of.Write, of.Read = append(of.Write, p.Write...), append(of.Read, p.Read...)
	}
	l.mu.Lock()
	ended, watched := l.ended, l.lost != nil
	l.mu.Unlock()
	switch {
	case ended:
		of.Ended = "released"
	case watched && l.firstLost() >= 0:
		of.Ended = "lost"
	}
	return of
}
