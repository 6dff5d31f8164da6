package world

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
)

// IntentOf names the intent for a key.
func IntentOf(key string) string { return "redislock:intent:{" + key + "}" }

// Numbered returns so many keys with a prefix.
func Numbered(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s:%d", prefix, i)
	}
	return keys
}

// WantNothing checks that a server knows no key of the prefix, and none beside one either.
func WantNothing(t *testing.T, rdb *redis.Client, prefix string) {
	t.Helper()
	if keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+prefix+"*").Result()); len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
}
