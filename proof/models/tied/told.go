package tied

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/proof/server"
)

// A News is what a waiter is told.
type News string

// The news.
const (
	Ask     News = "ask now"
	AskAt   News = "ask when the lease before you is over"
	Granted News = "the lock is yours"
	Broken  News = "locks were broken"
)

// A Told is one thing that a script tells a waiter that hears it, at the end of its run. What is told twice stands here once.
type Told struct {
	ID     string // empty: all who listen for what is broken
	News   News
	At     time.Duration // of AskAt: when that lease is over
	Number int64         // of Granted: the fencing number, counted as a world does; 0: there is none
}

// toldOf reads what was published for waiters.
func (all cast) toldOf(messages []server.Message, now time.Duration, heard func(channel string) bool) (told []Told) {
	for _, m := range messages {
		if m.Channel == listen.NoticeChannel {
			told = append(told, Told{News: Broken})
			continue
		}
		f := strings.Split(m.Text, "|")
		if !heard(m.Channel) || len(f) < 2 {
			continue
		}
		head := func(name, ms string) Told {
			return Told{ID: all.named(name), News: AskAt, At: now + time.Duration(number(ms))*time.Millisecond}
		}
		switch {
		case f[0] == "w":
			told = append(told, Told{ID: all.named(f[1]), News: Ask})
		case f[0] == "h" && len(f) == 3:
			told = append(told, head(f[1], f[2]))
		case f[0] == "g" && len(f) >= 4:
			told = append(told, Told{ID: f[1], News: Granted, Number: numberSince(number(f[3]))})
			if len(f) == 6 {
				told = append(told, head(f[4], f[5]))
			}
		}
	}
	return inOneForm(told)
}

// inOneForm brings what is told into one order, each thing once.
func inOneForm(told []Told) []Told {
	return slices.Compact(inOrder(told, func(t Told) (string, bool) { return t.ID + "|" + string(t.News) + "|" + t.At.String(), true }))
}

// named is the id of a waiter that a message calls by its name.
func (all cast) named(name string) string {
	for id := range all {
		if id[:min(len(id), listen.NameLength)] == name {
			return id
		}
	}
	return name
}
