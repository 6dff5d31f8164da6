package reentrant

import (
	"log/slog"
	"slices"

	"github.com/seed-14de3678/redislock/internal/shown"
)

// String says what is held, and for how much longer it is certain. It never has the token.
func (h *Hold) String() string { return h.shown().String() }

// GoString is String for the verb %#v.
func (h *Hold) GoString() string { return "*reentrant.Hold(" + h.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (h *Hold) LogValue() slog.Value { return h.shown().LogValue() }

func (h *Hold) shown() shown.Lock {
	if h.isNothing() {
		return shown.Lock{}
	}
	of := shown.Lock{Until: h.Deadline()}
	h.owner.mu.Lock()
	for _, e := range h.entries { // an upgrade may change its mode
		if e.write {
			of.Write = append(of.Write, e.place.key)
		} else {
			of.Read = append(of.Read, e.place.key)
		}
	}
	h.owner.mu.Unlock()
	switch released, _ := h.wasReleased(); {
	case released:
		of.Ended = "released"
	case slices.ContainsFunc(h.carriers, (*carrier).isLost):
		of.Ended = "lost"
	}
	return of
}
