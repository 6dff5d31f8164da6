package api_test

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
	"github.com/seed-14de3678/redislock/internal/world"
)

// DESIGN section 11: 4 000 keys, "too many results to unpack".
func TestMostKeys(t *testing.T) {
	t.Parallel()
	for n, opts := range map[int][]redislock.ClientOption{
		1000:  nil,
		10000: {redislock.WithMaxKeys(10000)},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := world.New(t, redistest.Shared(t, redistest.Redis), opts...)
			keys := world.Numbered(t.Name(), n)
			for name, obtain := range map[string]func([]string) (*redislock.Lock, error){
				"write": func(keys []string) (*redislock.Lock, error) {
					return w.Client.Obtain(t.Context(), keys, world.Long, nil)
				},
				"read": func(keys []string) (*redislock.Lock, error) {
					return w.Client.ObtainRead(t.Context(), keys, world.Long, nil)
				},
				"mixed": func(keys []string) (*redislock.Lock, error) {
					return w.Client.ObtainSet(t.Context(), redislock.Set{Write: keys[:n/2], Read: keys[n/2:]}, world.Long, nil)
				},
			} {
				t.Run(name, func(t *testing.T) {
					lock := check.Must[*redislock.Lock](t)(obtain(keys))
					if got := check.Must[int64](t)(w.RDB.Exists(t.Context(), keys...).Result()); got != int64(n) {
						t.Errorf("%d keys are held, want %d", got, n)
					}
					check.NoError(t, lock.Refresh(t.Context(), 2*world.Long))
					if ttl := check.Must[time.Duration](t)(lock.TTL(t.Context())); ttl <= world.Long || ttl > 2*world.Long {
						t.Errorf("got ttl %v, want nearly %v", ttl, 2*world.Long)
					}
					check.NoError(t, lock.Release(t.Context()))
					if got := check.Must[int64](t)(w.RDB.Exists(t.Context(), keys...).Result()); got != 0 {
						t.Errorf("%d keys are left", got)
					}
				})
			}
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "keys"}, func() error {
				_, err := w.Client.Obtain(t.Context(), world.Numbered(t.Name(), n+1), world.Long, nil)
				return err
			})
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "keys"}, func() error {
				_, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: keys, Read: []string{"one more"}}, world.Long, nil)
				return err
			})
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "keys"}, func() error {
				return w.Client.Attach(world.Numbered(t.Name(), n+1), "token").Release(t.Context())
			})
		})
	}
}

// DESIGN section 11: zero keys, empty key, raw server error.
func TestBadKeysAreNotSent(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	for name, keys := range map[string][]string{"none": {}, "nil": nil, "empty": {""}, "one empty": {"a", ""}} {
		for mode, obtain := range map[string]func([]string) error{
			"write": func(keys []string) error { _, err := w.Client.Obtain(t.Context(), keys, world.Long, nil); return err },
			"read": func(keys []string) error {
				_, err := w.Client.ObtainRead(t.Context(), keys, world.Long, nil)
				return err
			},
			"mixed": func(keys []string) error {
				_, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: keys, Read: keys}, world.Long, nil)
				return err
			},
			"attach": func(keys []string) error { return w.Client.Attach(keys, "t").Refresh(t.Context(), world.Long) },
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "keys"}, func() error { return obtain(keys) })
			})
		}
	}
}

// DESIGN section 11: caller's slice kept, mutate it and other keys are released.
func TestKeysAreCopied(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	keys := append(w.Keys("a", "b{x}", "a", "{}c"), w.Key("b{x}"))
	want := w.Keys("a", "b{x}", "{}c")
	lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
	for i := range keys {
		keys[i] = w.Key("other")
	}
	other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
	got := lock.Keys()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	clear(got)
	check.NoError(t, lock.Release(t.Context()))
	w.WantFree(t, want...)
	check.NoError(t, other.Release(t.Context()))
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
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for name, text := range texts {
			for mode, obtain := range map[string]func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error){
				"write": w.Client.Obtain, "read": w.Client.ObtainRead,
			} {
				t.Run(name+"/"+mode, func(t *testing.T) {
					key := []string{w.Key(name + mode)}
					lock := check.Must[*redislock.Lock](t)(obtain(t.Context(), key, world.Long, &redislock.Options{Metadata: text}))
					if got := lock.Metadata(); got != text {
						t.Errorf("got metadata %q, want %q", got, text)
					}
					_, err := w.Client.Obtain(t.Context(), key, world.Long, nil)
					conflict := world.WantConflict(t, err, key[0], redislock.Mode(mode))
					if conflict.Metadata != text {
						t.Errorf("got metadata %q in the conflict, want %q", conflict.Metadata, text)
					}
					if text := err.Error(); !utf8.ValidString(text) || strings.ContainsAny(text, "\r\n\x00\x1b") {
						t.Errorf("got error text %q, want one line of valid UTF-8", text)
					}
					states := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), key))
					if got := states[0].Holders[0].Metadata; got != text {
						t.Errorf("got metadata %q from Inspect, want %q", got, text)
					}
					check.NoError(t, lock.Refresh(t.Context(), world.Long))
					check.NoError(t, lock.Release(t.Context()))
				})
			}
		}
		world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "metadata"}, func() error {
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{Metadata: strings.Repeat("x", 4097)})
			return err
		})
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	for name, token := range map[string]string{"none": "", "separator": "a|b", "only a separator": "|", "long": strings.Repeat("x", 513)} {
		t.Run(name, func(t *testing.T) {
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "token"}, func() error {
				_, err := w.Client.As(token).Obtain(t.Context(), w.Keys("a"), world.Long, nil)
				return err
			})
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "token"}, func() error {
				return w.Client.As(token).With(t.Context(), w.Keys("a"), world.Long, nil, nil)
			})
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "token"}, func() error {
				return w.Client.Attach(w.Keys("a"), token).Release(t.Context())
			})
		})
	}
	released := func(lock *redislock.Lock) {
		check.NoError(t, w.Client.Attach(w.Keys("a"), lock.Token()).Release(t.Context()))
		w.WantFree(t, w.Key("a"))
	}
	for _, token := range []string{"x", strings.Repeat("x", 512), "\x00\r\n", "\xff"} {
		lock := check.Must[*redislock.Lock](t)(w.Client.As(token).Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		if got := lock.Token(); got != token {
			t.Errorf("got token %q, want %q", got, token)
		}
		released(lock)
	}
	lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
	if got := lock.Token(); len(got) != 30 {
		t.Errorf("got token %q, want one of 30 characters", got)
	}
	released(lock)
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
		// No token is empty, or longer than 512 bytes.
		"empty string with a TTL":        {"string", []any{"set", ""}},
		"long string with a TTL":         {"string", []any{"set", strings.Repeat("x", 513)}},
		"string with a '|' and a TTL":    {"string", []any{"set", strings.Repeat("x", 513) + "|" + strings.Repeat("x", 9999)}},
		"zset of long names and a TTL":   {"zset", []any{"zadd", "99999999999999", strings.Repeat("x", 513)}},
		"zset of an empty name, a TTL":   {"zset", []any{"zadd", "99999999999999", ""}},
		"zset of small scores and a TTL": {"zset", []any{"zadd", "1", strings.Repeat("x", 513)}},
	}
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		for name, f := range foreign {
			t.Run(name, func(t *testing.T) {
				for position := range 3 {
					w := world.New(t, b)
					w.Prefix += fmt.Sprint(position, ":")
					keys := w.Keys("a", "b", "c")
					args := append([]any{f.args[0], keys[position]}, f.args[1:]...)
					t.Cleanup(func() { w.RDB.Del(context.Background(), keys[position]) })
					check.NoError(t, w.RDB.Do(t.Context(), args...).Err())
					if strings.HasSuffix(name, "TTL") {
						check.NoError(t, w.RDB.PExpire(t.Context(), keys[position], world.Long).Err())
					}
					before := content(t, w.RDB, keys[position])
					refusesForeign(t, w, keys, position, f.kind)
					if diff := cmp.Diff(before, content(t, w.RDB, keys[position])); diff != "" {
						t.Errorf("the foreign key was changed:\n%s", diff)
					}
					for i, key := range keys {
						if i != position {
							w.WantFree(t, key)
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

func refusesForeign(t *testing.T, w *world.World, keys []string, position int, kind string) {
	t.Helper()
	ctx := t.Context()
	for name, obtain := range map[string]func() (*redislock.Lock, error){
		"write": func() (*redislock.Lock, error) { return w.Client.Obtain(ctx, keys, world.Long, nil) },
		"read":  func() (*redislock.Lock, error) { return w.Client.ObtainRead(ctx, keys, world.Long, nil) },
		"mixed": func() (*redislock.Lock, error) {
			return w.Client.ObtainSet(ctx, redislock.Set{Write: keys[:1], Read: keys[1:]}, world.Long, nil)
		},
		"other": func() (*redislock.Lock, error) {
			return w.Client.ObtainSet(ctx, redislock.Set{Write: keys[2:], Read: keys[:2]}, world.Long, nil)
		},
		"one": func() (*redislock.Lock, error) {
			return w.Client.Obtain(ctx, keys[position:position+1], world.Long, nil)
		},
	} {
		_, err := obtain()
		conflict := world.WantConflict(t, err, keys[position], redislock.ModeForeign)
		if conflict.Type != kind {
			t.Errorf("%s: got type %q, want %q", name, conflict.Type, kind)
		}
	}
	for _, keys := range [][]string{keys, keys[position : position+1]} {
		attached := w.Client.Attach(keys, "t")
		_, err := attached.TTL(ctx)
		for _, err := range []error{err, attached.Refresh(ctx, world.Long), attached.Release(ctx)} {
			check.Is(t, err, redislock.ErrLockNotHeld)
		}
	}
	states := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, []string{keys[position]}))
	if states[0].Mode != redislock.ModeForeign && kind != "zset" || states[0].Type != kind {
		t.Errorf("inspect: got %+v, want a foreign %s", states[0], kind)
	}
}

// Something foreign at the place of an intent is an error that says where, and nothing stays locked.
func TestForeignIntent(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		intent := "redislock:intent:{" + w.Key("a") + "}"
		check.NoError(t, w.RDB.HSet(t.Context(), intent, "f", "v").Err())
		t.Cleanup(func() { w.RDB.Del(context.Background(), intent) })
		_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{
			Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
		})
		if err == nil || errors.Is(err, redislock.ErrUnknownOutcome) || bytes.Contains([]byte(err.Error()), []byte("user_script")) {
			t.Errorf("got error %v, want a clear one", err)
		}
		check.Eventually(t, time.Second, "nothing stays locked", func() bool {
			return check.Must[int64](t)(w.RDB.Exists(t.Context(), w.Key("a")).Result()) == 0
		})
	})
}
