package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// refusedUnsent checks that fn fails with target and sends nothing.
func refusedUnsent(t *testing.T, rdb interface{ AddHook(redis.Hook) }, target error, fn func() error) {
	t.Helper()
	var sent check.Tally
	rdb.AddHook(&sent)
	err := fn()
	wantIs(t, err, target)
	if n := sent.Sent.Load(); n != 0 {
		t.Errorf("%d commands were sent before the error %v", n, err)
	}
}

func numbered(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s:%d", prefix, i)
	}
	return keys
}

// DESIGN section 11: 4 000 keys, "too many results to unpack".
func TestMostKeys(t *testing.T) {
	t.Parallel()
	for n, opts := range map[int][]redislock.ClientOption{
		1000:  nil,
		10000: {redislock.WithMaxKeys(10000)},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, redistest.Shared(t, redistest.Redis), opts...)
			keys := numbered(t.Name(), n)
			for name, obtain := range map[string]func([]string) (*redislock.Lock, error){
				"write": func(keys []string) (*redislock.Lock, error) { return w.client.Obtain(t.Context(), keys, long, nil) },
				"read":  func(keys []string) (*redislock.Lock, error) { return w.client.ObtainRead(t.Context(), keys, long, nil) },
				"mixed": func(keys []string) (*redislock.Lock, error) {
					return w.client.ObtainMixed(t.Context(), keys[:n/2], keys[n/2:], long, nil)
				},
			} {
				t.Run(name, func(t *testing.T) {
					lock := must[*redislock.Lock](t)(obtain(keys))
					if got := must[int64](t)(w.rdb.Exists(t.Context(), keys...).Result()); got != int64(n) {
						t.Errorf("%d keys are held, want %d", got, n)
					}
					noError(t, lock.Refresh(t.Context(), 2*long))
					if ttl := must[time.Duration](t)(lock.TTL(t.Context())); ttl <= long || ttl > 2*long {
						t.Errorf("got ttl %v, want nearly %v", ttl, 2*long)
					}
					noError(t, lock.Release(t.Context()))
					if got := must[int64](t)(w.rdb.Exists(t.Context(), keys...).Result()); got != 0 {
						t.Errorf("%d keys are left", got)
					}
				})
			}
			refusedUnsent(t, w.rdb, redislock.ErrInvalidKeys, func() error {
				_, err := w.client.Obtain(t.Context(), numbered(t.Name(), n+1), long, nil)
				return err
			})
			refusedUnsent(t, w.rdb, redislock.ErrInvalidKeys, func() error {
				_, err := w.client.ObtainMixed(t.Context(), keys, []string{"one more"}, long, nil)
				return err
			})
			refusedUnsent(t, w.rdb, redislock.ErrInvalidKeys, func() error {
				return w.client.Attach(numbered(t.Name(), n+1), "token").Release(t.Context())
			})
		})
	}
}

// DESIGN section 11: zero keys, empty key, raw server error.
func TestBadKeysAreNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	for name, keys := range map[string][]string{"none": {}, "nil": nil, "empty": {""}, "one empty": {"a", ""}} {
		for mode, obtain := range map[string]func([]string) error{
			"write": func(keys []string) error { _, err := w.client.Obtain(t.Context(), keys, long, nil); return err },
			"read":  func(keys []string) error { _, err := w.client.ObtainRead(t.Context(), keys, long, nil); return err },
			"mixed": func(keys []string) error {
				_, err := w.client.ObtainMixed(t.Context(), keys, keys, long, nil)
				return err
			},
			"attach": func(keys []string) error { return w.client.Attach(keys, "t").Refresh(t.Context(), long) },
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				refusedUnsent(t, w.rdb, redislock.ErrInvalidKeys, func() error { return obtain(keys) })
			})
		}
	}
}

// DESIGN section 11: caller's slice kept, mutate it and other keys are released.
func TestKeysAreCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	keys := append(w.keys("a", "b{x}", "a", "{}c"), w.key("b{x}"))
	want := w.keys("a", "b{x}", "{}c")
	lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long, nil))
	for i := range keys {
		keys[i] = w.key("other")
	}
	other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long, nil))
	got := lock.Keys()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	clear(got)
	noError(t, lock.Release(t.Context()))
	w.wantFree(t, want...)
	noError(t, other.Release(t.Context()))
}

func TestAnyMetadata(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	texts := map[string]string{
		"separators": "|a|b|", "NUL": "a\x00b", "CR LF": "a\r\n$3\r\nb", "invalid UTF-8": "\xff\xfe\x80",
		"every byte": string(every), "most": strings.Repeat("|", 4096),
		"cut in a rune": strings.Repeat("x", 199) + "é", "newline": "a\nb", "escape": "\x1b[31m",
	}
	scenario(t, func(t *testing.T, w *world) {
		for name, text := range texts {
			for mode, obtain := range map[string]func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error){
				"write": w.client.Obtain, "read": w.client.ObtainRead,
			} {
				t.Run(name+"/"+mode, func(t *testing.T) {
					key := []string{w.key(name + mode)}
					lock := must[*redislock.Lock](t)(obtain(t.Context(), key, long, &redislock.Options{Metadata: text}))
					if got := lock.Metadata(); got != text {
						t.Errorf("got metadata %q, want %q", got, text)
					}
					_, err := w.client.Obtain(t.Context(), key, long, nil)
					conflict := wantConflict(t, err, key[0], redislock.Mode(mode))
					if conflict.Metadata != text {
						t.Errorf("got metadata %q in the conflict, want %q", conflict.Metadata, text)
					}
					if told := err.Error(); !utf8.ValidString(told) || strings.ContainsAny(told, "\r\n\x00\x1b") {
						t.Errorf("got error text %q, want one line of valid UTF-8", told)
					}
					states := must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), key...))
					if got := states[0].Holders[0].Metadata; got != text {
						t.Errorf("got metadata %q from Inspect, want %q", got, text)
					}
					noError(t, lock.Refresh(t.Context(), long))
					noError(t, lock.Release(t.Context()))
				})
			}
		}
		refusedUnsent(t, w.rdb, redislock.ErrInvalidMetadata, func() error {
			_, err := w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{Metadata: strings.Repeat("x", 4097)})
			return err
		})
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	for name, token := range map[string]string{"separator": "a|b", "only a separator": "|", "long": strings.Repeat("x", 513)} {
		t.Run(name, func(t *testing.T) {
			refusedUnsent(t, w.rdb, redislock.ErrInvalidToken, func() error {
				_, err := w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{Token: token})
				return err
			})
			refusedUnsent(t, w.rdb, redislock.ErrInvalidToken, func() error {
				return w.client.Attach(w.keys("a"), token).Release(t.Context())
			})
		})
	}
	wantIs(t, w.client.Attach(w.keys("a"), "").Release(t.Context()), redislock.ErrInvalidToken)
	for _, token := range []string{"", "x", strings.Repeat("x", 512), "\x00\r\n", "\xff"} {
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{Token: token}))
		if got := lock.Token(); got != token && (token != "" || len(got) != 22) {
			t.Errorf("got token %q, want %q", got, token)
		}
		noError(t, w.client.Attach(w.keys("a"), lock.Token()).Release(t.Context()))
		w.wantFree(t, w.key("a"))
	}
}

// A foreign type or a foreign string at a key is a refusal, never overwritten.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	foreign := map[string]struct {
		kind string
		args []any // behind the key
	}{
		"list": {"list", []any{"rpush", "x"}}, "hash": {"hash", []any{"hset", "f", "v"}}, "set": {"set", []any{"sadd", "x"}},
		"stream": {"stream", []any{"xadd", "1-1", "f", "v"}}, "zset": {"zset", []any{"zadd", "1", "m"}}, "string": {"string", []any{"set", "v"}},
		"hash with a TTL": {"hash", []any{"hset", "f", "v"}},
	}
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		for name, f := range foreign {
			t.Run(name, func(t *testing.T) {
				for position := range 3 {
					w := newWorld(t, b)
					w.prefix += fmt.Sprint(position, ":")
					keys := w.keys("a", "b", "c")
					args := append([]any{f.args[0], keys[position]}, f.args[1:]...)
					t.Cleanup(func() { w.rdb.Del(context.Background(), keys[position]) })
					noError(t, w.rdb.Do(t.Context(), args...).Err())
					if strings.HasSuffix(name, "TTL") {
						noError(t, w.rdb.PExpire(t.Context(), keys[position], long).Err())
					}
					before := content(t, w.rdb, keys[position])
					refusesForeign(t, w, keys, position, f.kind)
					if diff := cmp.Diff(before, content(t, w.rdb, keys[position])); diff != "" {
						t.Errorf("the foreign key was changed:\n%s", diff)
					}
					for i, key := range keys {
						if i != position {
							w.wantFree(t, key)
						}
					}
				}
			})
		}
	})
}

// content is what a key of any type holds.
func content(t *testing.T, rdb *redis.Client, key string) string {
	t.Helper()
	ctx := t.Context()
	switch kind := rdb.Type(ctx, key).Val(); kind {
	case "list":
		return kind + fmt.Sprint(rdb.LRange(ctx, key, 0, -1).Val())
	case "hash":
		return kind + fmt.Sprint(rdb.HGetAll(ctx, key).Val())
	case "set":
		return kind + fmt.Sprint(rdb.SMembers(ctx, key).Val())
	case "zset":
		return kind + fmt.Sprint(rdb.ZRangeWithScores(ctx, key, 0, -1).Val())
	case "stream":
		return kind + fmt.Sprint(rdb.XRange(ctx, key, "-", "+").Val())
	default:
		return kind + rdb.Get(ctx, key).Val()
	}
}

func refusesForeign(t *testing.T, w *world, keys []string, position int, kind string) {
	t.Helper()
	ctx := t.Context()
	for name, obtain := range map[string]func() (*redislock.Lock, error){
		"write": func() (*redislock.Lock, error) { return w.client.Obtain(ctx, keys, long, nil) },
		"read":  func() (*redislock.Lock, error) { return w.client.ObtainRead(ctx, keys, long, nil) },
		"mixed": func() (*redislock.Lock, error) { return w.client.ObtainMixed(ctx, keys[:1], keys[1:], long, nil) },
		"other": func() (*redislock.Lock, error) { return w.client.ObtainMixed(ctx, keys[2:], keys[:2], long, nil) },
		"one":   func() (*redislock.Lock, error) { return w.client.Obtain(ctx, keys[position:position+1], long, nil) },
	} {
		_, err := obtain()
		conflict := wantConflict(t, err, keys[position], redislock.ModeForeign)
		if conflict.Type != kind {
			t.Errorf("%s: got type %q, want %q", name, conflict.Type, kind)
		}
	}
	for _, keys := range [][]string{keys, keys[position : position+1]} {
		attached := w.client.Attach(keys, "t")
		_, err := attached.TTL(ctx)
		for _, err := range []error{err, attached.Refresh(ctx, long), attached.Release(ctx)} {
			wantIs(t, err, redislock.ErrLockNotHeld)
		}
	}
	states := must[[]redislock.KeyState](t)(w.client.Inspect(ctx, keys[position]))
	if states[0].Mode != redislock.ModeForeign && kind != "zset" || states[0].Type != kind {
		t.Errorf("inspect: got %+v, want a foreign %s", states[0], kind)
	}
}

// Something foreign at the place of an intent is an error that says where, and nothing stays locked.
func TestForeignIntent(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		intent := "redislock:intent:{" + w.key("a") + "}"
		noError(t, w.rdb.HSet(t.Context(), intent, "f", "v").Err())
		t.Cleanup(func() { w.rdb.Del(context.Background(), intent) })
		_, err := w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{
			Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
		})
		if err == nil || errors.Is(err, redislock.ErrUnknownOutcome) || bytes.Contains([]byte(err.Error()), []byte("user_script")) {
			t.Errorf("got error %v, want a clear one", err)
		}
		eventually(t, time.Second, "nothing stays locked", func() bool {
			return must[int64](t)(w.rdb.Exists(t.Context(), w.key("a")).Result()) == 0
		})
	})
}
