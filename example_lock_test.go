package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
)

// The work gets a context that ends with the lock.
func ExampleLock_Context() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.New(rdb).Obtain(ctx, []string{"lock:stock:9"}, 3*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	work := lock.Context(ctx)
	<-work.Done() // nobody renews the lease: it ends
	fmt.Println(errors.Is(context.Cause(work), redislock.ErrLockLost))
	// Output: true
}

func ExampleLock_Refresh() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.New(rdb).Obtain(ctx, []string{"lock:report:daily"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	if err := lock.Refresh(ctx, time.Hour); err != nil {
		fmt.Println(err)
		return
	}
	left, err := lock.TTL(ctx)
	fmt.Println(left.Round(time.Minute), err)
	// Output: 1h0m0s <nil>
}

// A Release names what was lost, and frees the rest.
func ExampleLock_Release() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.New(rdb).Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	rdb.Del(ctx, "lock:stock:9") // somebody meddles
	fmt.Println(lock.Release(ctx))
	fmt.Println("lock:order:7 exists:", rdb.Exists(ctx, "lock:order:7").Val() == 1)
	// Output:
	// redislock: release "lock:order:7" and 1 more: lock not held: lost "lock:stock:9"
	// lock:order:7 exists: false
}

// When the work on a part of a set is done, its keys can be released for others.
func ExampleLock_ReleaseKeys() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	if err := lock.ReleaseKeys(ctx, []string{"lock:stock:9"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("still held:", lock.Keys(), "free:", rdb.Exists(ctx, "lock:stock:9").Val() == 0)
	// Output:
	// still held: [lock:order:7] free: true
}

// The writer is done and goes on reading; nobody writes in between.
func ExampleLock_Downgrade() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"lock:price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	fmt.Println(lock.Downgrade(ctx))
	_, err = client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
	fmt.Println("another reads:", err == nil)
	// Output:
	// <nil>
	// another reads: true
}

// The only reader may write. One among several may not, and still reads.
func ExampleLock_Upgrade() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)
	other, err := client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println("refused:", errors.Is(lock.Upgrade(ctx), redislock.ErrNotObtained))
	fmt.Println(other.Release(ctx), lock.Upgrade(ctx))
	// Output:
	// refused: true
	// <nil> <nil>
}

// A holder that was paused, and does not know that its lease is over, is refused by the resource.
func ExampleLock_Fence() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	fenced := &redislock.Options{Fenced: true}
	older, err := client.Obtain(ctx, []string{"lock:page:9"}, 3*time.Second, fenced)
	if err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(3 * time.Second) // the older one is paused, and its lease ends

	newer, err := client.Obtain(ctx, []string{"lock:page:9"}, time.Minute, fenced)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = fencing.Set(ctx, rdb, "page:9:text", newer.Fence(), "by the newer", 0)
	fmt.Println("newer:", err)
	err = fencing.Set(ctx, rdb, "page:9:text", older.Fence(), "by the older", 0)
	fmt.Println("older:", errors.Is(err, fencing.ErrStale))
	// Output:
	// newer: <nil>
	// older: true
}

// tick writes the report, unless another machine has this tick.
func tick(ctx context.Context, client *redislock.Client, report func(context.Context) error) error {
	err := client.With(ctx, []string{"cron:report"}, time.Minute,
		&redislock.Options{Name: "report", HoldAtLeast: 30 * time.Minute}, report)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	return err
}

// The clocks of three machines strike one after the other. The report is written once.
func ExampleOptions_holdAtLeast() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	for _, machine := range []string{"web-1", "web-2", "web-3"} {
		err := tick(ctx, client, func(context.Context) error {
			fmt.Println(machine, "writes the report")
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output: web-1 writes the report
}

// The sensor needs an hour of rest after a measurement, before anybody else wants it.
func ExampleLock_Leave() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"lock:sensor:4"}, time.Minute, &redislock.Options{Metadata: "host=lab-2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := lock.Leave(ctx, time.Hour); err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Obtain(ctx, []string{"lock:sensor:4"}, time.Minute, nil)
	fmt.Println(err)
	// Output: redislock: "lock:sensor:4" is kept write-locked after the work of host=lab-2, 59m to go
}

// A function that is called under a lock finds it in its context, and so the number under which the resource lets it
// write.
func ExampleFromContext() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	save := func(ctx context.Context, left int) error {
		lock := redislock.FromContext(ctx) // nil if there is none, and then its number is 0
		return fencing.Set(ctx, rdb, "stock:9", lock.Fence(), left, time.Hour)
	}
	err := client.With(ctx, []string{"lock:stock:9"}, 10*time.Second, &redislock.Options{Fenced: true},
		func(ctx context.Context) error { return save(ctx, 41) })
	fmt.Println("under the lock:", err)
	fmt.Println("without it:", save(ctx, 40))
	// Output:
	// under the lock: <nil>
	// without it: fencing: invalid number: 0 is not from 1 to 9007199254740991
}

// A holder hangs, and somebody on call takes the lock from it.
func ExampleClient_Break() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	keys := []string{"lock:report:daily"}
	stuck, err := client.Obtain(ctx, keys, time.Hour, &redislock.Options{Metadata: "host=web-3 pid=812"})
	if err != nil {
		fmt.Println(err)
		return
	}

	broken, err := client.Break(ctx, keys, "web-3 hangs")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range broken {
		fmt.Println(b.Key, b.Mode, b.Metadata)
	}
	fmt.Println(errors.Is(stuck.Release(ctx), redislock.ErrLockNotHeld))
	// Output:
	// lock:report:daily write host=web-3 pid=812
	// true
}

// The holder's Client listens, so the work ends at once, and knows why.
func ExampleWithBreakNotices() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	holder := redislock.New(rdb, redislock.WithBreakNotices())
	defer holder.Close()
	keys := []string{"lock:report:daily"}
	err := holder.With(ctx, keys, 3*time.Second, nil, func(work context.Context) error {
		for rdb.PubSubNumSub(ctx, "redislock:break").Val()["redislock:break"] == 0 {
			time.Sleep(time.Millisecond) // the subscription takes a moment
		}
		if _, err := redislock.New(rdb).Break(ctx, keys, "the report is wrong"); err != nil { // elsewhere
			return err
		}
		<-work.Done()
		return nil
	})
	fmt.Println(errors.Is(err, redislock.ErrLockLost), errors.Is(err, redislock.ErrBroken))
	fmt.Println(err)
	// Output:
	// true true
	// redislock: lock lost: "lock:report:daily" was broken: the report is wrong
}
