package property_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// entry makes an entry of a line, as a waiter for the key writes it, and then spoils some of it.
func (c *choices) entry(key string) string {
	id := choose(c, "AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBB", "", "x")
	till := choose[any](c, time.Now().Add(time.Minute).UnixMilli(), 0, "", "99999999999999999999", -1)
	mode := choose(c, "w", "r", "x")
	flags := choose(c, "p", "s") + choose(c, "-", "f") + choose(c, "h", "-")
	ttl := choose[any](c, 1000, 0, "1e9", 99999999999, "99999999999999999999")
	names := choose(c, "", fmt.Sprintf("w%d:%s", len(key), key), "w1:", "w99999:x", "r0:w0:")
	channel := choose(c, "channel", "", strings.Repeat("x", 300))
	value := choose(c, "token|metadata", "token", "", "|")
	text := fmt.Sprintf("%s|%v|%s|%s|%v|%v|%v|%v|%s%s%s", id, till, mode, flags, ttl, choose(c, 1, 0, 2, 4000000000),
		choose(c, len(channel), 0, 5000), choose(c, len(names), 0, 70), channel, names, value)
	for range c.next(4) { // one byte, or all behind it
		at := c.next(256) % (len(text) + 1)
		if at == len(text) {
			break
		}
		text = choose(c, text[:at], text[:at]+string(rune(c.next(256)))+text[at+1:])
	}
	return text
}

// Whatever somebody has written into a line, scripts do not stumble over it: everybody who locks gets the lock or hears
// that somebody else has it, and the line can be looked at.
func FuzzEntry(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		bytes = bytes[:min(len(bytes), 200)]
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) { enter(t, w, bytes) })
	})
}

// The same on a real server, whose numbers and patterns are not quite those of the imitation.
func FuzzEntryOfAServer(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0})
	server := redistest.Shared(f, redistest.Redis)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		w := world.New(t, server)
		enter(t, w, bytes[:min(len(bytes), 200)])
	})
}

func enter(t *testing.T, w *world.World, bytes []byte) {
	t.Helper()
	ctx, c, key := t.Context(), &choices{bytes}, w.Key("k")
	line := "redislock:line:{" + key + "}"
	lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, []string{key}, world.Long, nil))
	for i := range 1 + c.next(3) {
		z := redis.Z{Score: choose(c, float64(time.Now().UnixMicro()), 0, -1, 1e300, float64(i), 1.5, 1<<52), Member: c.entry(key)}
		t.Logf("%v: %q", z.Score, z.Member)
		check.NoError(t, w.RDB.ZAdd(ctx, line, z).Err())
	}
	if choose(c, true, false) {
		check.NoError(t, w.RDB.PExpire(ctx, line, time.Minute).Err())
	}
	_, err := w.Client.Obtain(ctx, []string{key}, world.Long, &redislock.Options{Queue: true, Wait: 20 * time.Millisecond})
	if !errors.Is(err, redislock.ErrUnknownOutcome) { // the machine is busy: 120 ms were not enough
		fits(t, "in line", err)
	}
	_, err = w.Client.Inspect(ctx, []string{key})
	fits(t, "inspect", err)
	fits(t, "release", lock.Release(ctx))
	_, err = w.Client.ObtainRead(ctx, []string{key}, world.Long, nil)
	fits(t, "read", err)
	_, err = w.Client.Break(ctx, []string{key}, "")
	fits(t, "break", err)
	check.NoError(t, w.RDB.Del(ctx, line, key).Err())
	_, err = w.Client.Obtain(ctx, []string{key}, world.Long, nil)
	check.NoError(t, err)
	check.NoError(t, w.RDB.Del(ctx, line, key).Err())
}

// fits wants no error, or one that somebody who locks has to expect.
func fits(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("%s: %v", what, err)
	}
}

// The same with bytes of which none means anything.
func TestEntries(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	heard := w.RDB.Subscribe(t.Context(), "channel") // else every entry is that of one who is gone
	t.Cleanup(func() { _ = heard.Close() })
	_ = check.Must[any](t)(heard.Receive(t.Context()))
	for i := range entries {
		rng := rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)})
		bytes := make([]byte, 60)
		_, _ = rng.Read(bytes)
		t.Run(fmt.Sprint(i), func(t *testing.T) { enter(t, w, bytes) })
	}
}

// entries is how many lines are spoiled.
const entries = 300
