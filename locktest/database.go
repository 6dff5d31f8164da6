package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

const (
	// claimed is the name of the lock of a database, without its number.
	claimed = "redislock:locktest:database:"
	// used is a hash of the databases that tests use, or have used and not emptied because they were killed.
	used = "redislock:locktest:databases"
	// claimTTL is for how long a database is kept from others after its test was killed.
	claimTTL = 30 * time.Second
	// claimPatience is for how long a test waits until others free a database.
	claimPatience = 5 * time.Minute
)

// A claim is a database of a real server that a test has for itself.
type claim struct {
	options redis.Options // of the URL
	base    *redis.Client // of the database of the URL, where the claims are
	client  *redislock.Client
	lock    *redislock.Lock
	number  int
}

// database takes a database of the server for the time of the test, and empties it afterwards.
func database(tb testing.TB, url string) *redis.Options {
	tb.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatalf("locktest: the URL of the server: %v", err)
		return nil
	}
	options.DialTimeout = cmp.Or(options.DialTimeout, 5*time.Second)
	base := redis.NewClient(options)
	tb.Cleanup(func() { _ = base.Close() })
	c := &claim{base: base, client: redislock.New(base), options: *options}
	tb.Cleanup(c.client.Close)
	ctx, cancel := context.WithTimeout(context.Background(), claimPatience)
	defer cancel()
	if err := c.take(ctx, tb.Name(), options.DB); err != nil {
		tb.Fatalf("locktest: no database of its own for the test: %v", err)
		return nil
	}
	tb.Cleanup(func() {
		tb.Helper()
		if err := c.giveBack(); err != nil {
			tb.Errorf("locktest: database %d: %v", c.number, err)
		}
	})
	own := c.own()
	own.Dialer = redis.NewDialer(own)
	return own
}

// own returns the way to the database.
func (c *claim) own() *redis.Options {
	options := c.options
	options.DB = c.number
	return &options
}

// take claims a database that nobody uses, and waits for one if others have all of them.
func (c *claim) take(ctx context.Context, test string, not int) error {
	n, err := c.databases(ctx)
	if err != nil {
		return err
	}
	for {
		busy := error(nil)
		for _, number := range rand.Perm(n) {
			if number == not {
				continue
			}
			c.number = number
			err := c.try(ctx, test)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, redislock.ErrNotObtained):
				busy = err
			case !errors.Is(err, errForeign):
				return err
			}
		}
		if busy == nil {
			return fmt.Errorf("%w, all %d beside number %d", errForeign, n-1, not)
		}
		select {
		case <-ctx.Done():
			return busy
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// errForeign says that a database is not to be touched.
var errForeign = errors.New("it has keys that are not of a test")

// try claims one database, if it is empty or was left by a test that was killed.
func (c *claim) try(ctx context.Context, test string) (err error) {
	name := strconv.Itoa(c.number)
	c.lock, err = c.client.Obtain(ctx, []string{claimed + name}, claimTTL,
		&redislock.Options{Watchdog: true, Metadata: test + " " + redislock.InstanceMetadata()})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.lock.Release(ctx)
		}
	}()
	left, err := c.base.HExists(ctx, used, name).Result()
	if err != nil {
		return err
	}
	size, err := c.each(ctx, left)
	switch {
	case err != nil:
		return err
	case size > 0:
		return errForeign
	}
	return c.base.HSet(ctx, used, name, test).Err()
}

// each empties the database if it is to, and returns how many keys it has then. It never empties a database in which
// other tests note the databases that they use, because their URL names it.
func (c *claim) each(ctx context.Context, empty bool) (int64, error) {
	rdb := redis.NewClient(c.own())
	defer func() { _ = rdb.Close() }()
	if empty {
		switch notes, err := rdb.Exists(ctx, used).Result(); {
		case err != nil:
			return 0, err
		case notes > 0:
			return 0, errForeign
		}
		if err := rdb.FlushDB(ctx).Err(); err != nil {
			return 0, err
		}
	}
	return rdb.DBSize(ctx).Result()
}

// databases returns how many the server has. If it does not say, it has as many as by default.
func (c *claim) databases(ctx context.Context) (int, error) {
	if err := c.base.Ping(ctx).Err(); err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(c.base.ConfigGet(ctx, "databases").Val()["databases"])
	if err != nil {
		n = 16
	}
	if n < 2 {
		return 0, errors.New("the server has one database, and a test takes another one than that of the URL")
	}
	return n, nil
}

// giveBack empties the database, and leaves it to others. If the claim was lost meanwhile, the database may belong to
// somebody else: it stays as it is.
func (c *claim) giveBack() error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := c.lock.Refresh(ctx, claimTTL); err != nil {
		return fmt.Errorf("not emptied, because the claim to it was lost: %w", err)
	}
	_, err := c.each(ctx, true)
	if err == nil {
		err = c.base.HDel(ctx, used, strconv.Itoa(c.number)).Err()
	}
	return errors.Join(err, c.lock.Release(ctx))
}
