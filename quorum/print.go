package quorum

import (
	"log/slog"

	"github.com/seed-14de3678/redislock/internal/shown"
)

// String says what the lock holds, and for how much longer it is certain. It never has the token.
func (l *Lock) String() string { return l.shown().String() }

// GoString is String for the verb %#v.
func (l *Lock) GoString() string { return "*quorum.Lock(" + l.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (l *Lock) LogValue() slog.Value { return l.shown().LogValue() }

func (l *Lock) shown() shown.Lock {
	if l.isNothing() {
		return shown.Lock{}
	}
	of := shown.Lock{Until: l.Deadline()}
	keys := l.Keys()
	if l.attached {
		of.Unknown = keys
	} else {
		read := len(keys) - min(len(keys), l.writes())
		of.Write, of.Read = keys[:len(keys)-read], keys[len(keys)-read:]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case released:
		of.Ended = "released"
	case lost:
		of.Ended = "lost"
	}
	return of
}

// writes is how many of the keys are write keys. These come first.
func (l *Lock) writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	distinct := make(map[string]bool, len(l.want.set.Write))
	for _, key := range l.want.set.Write {
		distinct[key] = true
	}
	return len(distinct)
}
