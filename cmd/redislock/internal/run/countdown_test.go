package run

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

func TestCountdown(t *testing.T) {
	t.Parallel()
	const s = time.Second
	start := clock.Moment{Mono: 100 * s, Wall: 5000 * s}
	for name, tt := range map[string]struct {
		ttl, grace time.Duration
		left       time.Duration // of the lease
		began      time.Duration // when it got SIGTERM, after the start; negative: it did not
		at         clock.Moment  // after the start, on both clocks
		want       order
		wait       time.Duration
	}{
		"just renewed":                     {30 * s, 10 * s, 30 * s, -1, clock.Moment{}, nothing, 22*s + s/2},
		"a quarter is left":                {30 * s, 10 * s, 30 * s, -1, clock.Moment{Mono: 23 * s, Wall: 23 * s}, terminate, 0},
		"a short grace":                    {30 * s, 2 * s, 30 * s, -1, clock.Moment{Mono: 23 * s, Wall: 23 * s}, nothing, 5 * s},
		"the machine has slept":            {30 * s, 10 * s, 30 * s, -1, clock.Moment{Mono: s, Wall: 29 * s}, terminate, 0},
		"the shared clock was set back":    {30 * s, 10 * s, 30 * s, -1, clock.Moment{Mono: 29 * s, Wall: -s}, terminate, 0},
		"got SIGTERM":                      {60 * s, 10 * s, 60 * s, s, clock.Moment{Mono: 2 * s, Wall: 2 * s}, nothing, 9 * s},
		"the grace is over":                {60 * s, 10 * s, 60 * s, s, clock.Moment{Mono: 11 * s, Wall: 11 * s}, kill, 0},
		"the lease ends before the grace":  {4 * s, 10 * s, 4 * s, s, clock.Moment{Mono: 4 * s, Wall: 4 * s}, kill, 0},
		"the lease ends while it is asked": {4 * s, 10 * s, 4 * s, s, clock.Moment{Mono: 2 * s, Wall: 3 * s}, nothing, s},
	} {
		c := newCountdown(tt.ttl, tt.grace)
		c.renewed(message{Deadline: start.Wall + tt.left, Left: tt.left}, start)
		if tt.began >= 0 {
			c.begin(start.Add(tt.began))
		}
		at := clock.Moment{Mono: start.Mono + tt.at.Mono, Wall: start.Wall + tt.at.Wall}
		if got, wait := c.next(at); got != tt.want || wait != tt.wait {
			t.Errorf("%s: order %d in %v, want %d in %v", name, got, wait, tt.want, tt.wait)
		}
	}
}

func TestCountdownBeginsOnce(t *testing.T) {
	t.Parallel()
	c := newCountdown(time.Minute, time.Second)
	c.renewed(message{Deadline: time.Hour, Left: time.Minute}, now())
	if at := now(); !c.begin(at) || c.begin(at.Add(time.Second)) {
		t.Error("it begins more than once, or not at all")
	}
	c.renewed(message{Deadline: 2 * time.Hour, Left: time.Hour}, now())
	if c.began == (clock.Moment{}) {
		t.Error("a renewal has stopped it")
	}
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		"a b":               {"a", "b"},
		"orders:17 'a b'":   {"orders:17", "a b"},
		`'it'\''s' '$HOME'`: {"it's", "$HOME"},
		"'{a}'":             {"{a}"},
		"'a\nb' 'ü'":        {"a\nb", "ü"},
	} {
		if got := shellWords(words); got != want {
			t.Errorf("%q: got %s, want %s", words, got, want)
		}
	}
}
