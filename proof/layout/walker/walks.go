package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// walks are what a walker can do. hold is a part of line.
var walks = map[string]func(context.Context, *walker) error{"free": free, "line": line, "hold": hold, "reply": reply, "loss": loss}

// free obtains one key that is free, and releases it.
func free(ctx context.Context, w *walker) error {
	client, err := w.client(ctx, w.address)
	if err != nil {
		return err
	}
	keys := []string{w.key("free")}
	if err := w.begins(ctx); err != nil {
		return err
	}
	lock, err := client.Obtain(context.Background(), keys, lease, nil)
	if err != nil {
		return err
	}
	if err := lock.Release(context.Background()); err != nil {
		return err
	}
	return w.ends(ctx)
}

// line stands in line for a mixed set until another process, whose functions are not counted, hands it over. It ends when
// the lock is obtained.
func line(ctx context.Context, w *walker) error {
	client, err := w.client(ctx, w.address)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	holder := exec.CommandContext(ctx, program, "hold", w.address, w.name, w.folder)
	holder.Stderr = os.Stderr
	said, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		return errors.Join(err, holder.Wait())
	}
	set, opt := redislock.Set{Write: []string{w.key("a")}, Read: []string{w.key("b")}}, &redislock.Options{Queue: true}
	if err := w.begins(ctx); err != nil {
		return err
	}
	if _, err := client.ObtainSet(context.Background(), set, lease, opt); err != nil {
		return err
	}
	return errors.Join(w.ends(ctx), holder.Wait())
}

// settles is how much time a waiter that is seen in line has to take in the reply that has put it there.
const settles = 100 * time.Millisecond

// hold is the other process of line: it says when it has the set, and releases it when somebody stands in both lines.
func hold(ctx context.Context, w *walker) error {
	client, err := w.client(ctx, w.address)
	if err != nil {
		return err
	}
	keys := []string{w.key("a"), w.key("b")}
	lock, err := client.Obtain(ctx, keys, lease, nil)
	if err != nil {
		return err
	}
	fmt.Println("held")
	for {
		states, err := client.Inspect(ctx, keys)
		if err != nil {
			return err
		}
		if len(states[0].Line) > 0 && len(states[1].Line) > 0 {
			break
		}
		time.Sleep(settles / 20)
	}
	time.Sleep(settles)
	return lock.Release(ctx)
}

// reply releases a lock. The server does it, but the connection breaks instead of bringing the reply. So the library asks
// again, and has to know that the lock that it does not find was its own. The walk ends when Release has returned.
func reply(ctx context.Context, w *walker) error {
	p, err := newProxy(ctx, w.address)
	if err != nil {
		return err
	}
	client, err := w.client(ctx, p.address())
	if err != nil {
		return err
	}
	lock, err := client.Obtain(ctx, []string{w.key("reply")}, lease, nil)
	if err != nil {
		return err
	}
	p.losesNext.Store(true)
	if err := w.begins(ctx); err != nil {
		return err
	}
	if err := lock.Release(context.Background()); err != nil {
		return err
	}
	if p.losesNext.Load() {
		return errors.New("no reply was lost")
	}
	return w.ends(ctx)
}

// watched is the ttl of a lock with a watchdog, which renews it after a third.
const watched = 9 * time.Second

// loss has a lock with a watchdog whose key is deleted. It begins when the lock is held, and ends when the watchdog has found
// that out, and its context has ended. If the machine is so slow that the deadline may have come before, it is done again.
func loss(ctx context.Context, w *walker) error {
	client, err := w.client(ctx, w.address)
	if err != nil {
		return err
	}
	raw := redis.NewClient(&redis.Options{Addr: w.address})
	for {
		key := w.key("loss")
		lock, err := client.Obtain(ctx, []string{key}, watched, &redislock.Options{Watchdog: true})
		if err != nil {
			return err
		}
		began, held := time.Now(), lock.Context(context.Background())
		if err := raw.Del(ctx, key).Err(); err != nil {
			return err
		}
		if err := w.begins(ctx); err != nil {
			return err
		}
		select {
		case <-held.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
		if time.Since(began) < watched-time.Second {
			return w.ends(ctx)
		}
	}
}
