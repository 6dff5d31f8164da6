package fencing

import (
	"context"
	"crypto/fips140"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrForeign means that a key holds something that [Set] did not write. It is never overwritten.
var ErrForeign = errors.New("not a fenced value")

// The fields of the hash that Set writes.
const (
	fenceField = "fence"
	valueField = "value"
)

//go:embed set.lua
var setLua string

// setScript is made when it is first used, and with SHA-1 allowed: the sum is the name that Redis
// gives to a script and protects nothing.
var setScript = sync.OnceValue(func() (script *redis.Script) {
	fips140.WithoutEnforcement(func() { script = redis.NewScript(setLua) })
	return script
})

// Set writes a value to a key together with a fencing number, in one step, if the number of the key
// is not greater. Otherwise it returns [ErrStale] and changes nothing. The value is whatever a
// command of go-redis takes: a string, bytes, a number, an [encoding.BinaryMarshaler].
//
// The key is a hash of the two fields fence and value, so that both are in one Cluster slot, and
// begin and end together. So when the key is gone its number is gone as well, and anybody may write.
// Each Set gives the key a new ttl, with fractions of a millisecond rounded up. The ttl should be
// longer than any write can be late; zero means that the key stays. To clear a value Set an empty
// one, and do not delete the key.
//
// Numbers that are an [ErrInvalidNumber] and a negative ttl are refused before anything is sent. A
// key that Set did not write is refused with [ErrForeign]. After any other error the value may have
// been written: Set it again.
//
// The user of rdb must be allowed eval, evalsha, hexists, hget, hlen, hset, persist, pexpire, set
// and type; for [Get] also hgetall.
func Set(ctx context.Context, rdb redis.Scripter, key string, number int64, value any, ttl time.Duration) error {
	if err := check(number); err != nil {
		return err
	}
	if ttl < 0 {
		return fmt.Errorf("fencing: set %q: negative ttl %v", key, ttl)
	}
	if err := unfit(rdb); err != nil {
		return fmt.Errorf("fencing: set %q: %w", key, err)
	}
	millis := int64(ttl / time.Millisecond)
	if ttl%time.Millisecond > 0 {
		millis++
	}
	reply, err := setScript().Run(ctx, rdb, []string{key}, number, value, millis).Slice()
	if err != nil {
		return fmt.Errorf("fencing: set %q: %w", key, err)
	}
	return refusal(reply, key, number)
}

// unfit says why a Redis client cannot be asked.
func unfit(rdb any) error {
	if v := reflect.ValueOf(rdb); rdb == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("there is no Redis client")
	}
	if _, ok := rdb.(redis.Pipeliner); ok {
		return fmt.Errorf("%w: the answers of a %T come at its Exec", errors.ErrUnsupported, rdb)
	}
	return nil
}

// refusal decodes the reply of set.lua.
func refusal(reply []any, key string, number int64) error {
	if len(reply) == 1 && reply[0] == int64(1) {
		return nil
	}
	if len(reply) == 2 {
		detail, _ := reply[1].(string)
		switch reply[0] {
		case int64(0):
			if newest, err := strconv.ParseInt(detail, 10, 64); err == nil {
				return &StaleError{Resource: key, Number: number, Newest: newest}
			}
		case int64(-1):
			return fmt.Errorf("fencing: set %q: %w: it is a %s", key, ErrForeign, detail)
		}
	}
	return fmt.Errorf("fencing: set %q: unexpected reply %v", key, reply)
}

// Get returns the value that [Set] has written to a key, and its number. If there is no such key
// the error is [redis.Nil]; if the key holds something else it is [ErrForeign]. Every client of
// go-redis can be the rdb. A client that reads from replicas may get an older value with its older
// number.
func Get(ctx context.Context, rdb interface {
	HGetAll(ctx context.Context, key string) *redis.MapStringStringCmd
}, key string,
) (value string, number int64, err error) {
	if err := unfit(rdb); err != nil {
		return "", 0, fmt.Errorf("fencing: get %q: %w", key, err)
	}
	fields, err := rdb.HGetAll(ctx, key).Result()
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		err = ErrForeign
	case err == nil && len(fields) == 0:
		err = redis.Nil
	case err == nil:
		value, number, err = decode(fields)
	}
	if err != nil {
		return "", 0, fmt.Errorf("fencing: get %q: %w", key, err)
	}
	return value, number, nil
}

// decode takes apart what set.lua writes.
func decode(fields map[string]string) (value string, number int64, err error) {
	value, ok := fields[valueField]
	number, err = parse(fields[fenceField])
	if err != nil || !ok || len(fields) != 2 {
		return "", 0, ErrForeign
	}
	return value, number, nil
}
