package servers_test

import (
	"errors"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
)

func write(e *site) {
	lock := e.obtain(e.a, time.Minute, &redislock.Options{Metadata: "one"}, "a", "b", "c")
	e.refused("b", redislock.ModeWrite, "one")
	_, err := e.b.Obtain(e.ctx, e.keys("x", "c", "a"), long, nil)
	e.wantConflict(err, "c", redislock.ModeWrite, "one")
	e.isFree("x") // all or nothing
	e.must("refresh", lock.Refresh(e.ctx, long))
	ttl, err := lock.TTL(e.ctx)
	e.must("ttl", err)
	e.want(ttl > time.Minute && ttl <= long, "a lease of up to %v, but %v", long, ttl)
	e.must("attached", e.b.Attach(e.keys("a", "b", "c"), lock.Token()).Refresh(e.ctx, long))
	e.must("release", lock.Release(e.ctx))
	e.isFree("a", "b", "c")
	e.want(errors.Is(lock.Release(e.ctx), redislock.ErrLockNotHeld), "the second release finds nothing")
	e.obtain(e.b, 3*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}, "a")
	e.eventually("a lease that is over", func() bool { return e.inspect("a")[0].Mode == redislock.ModeFree })
}

func read(e *site) {
	one, err := e.a.ObtainRead(e.ctx, e.keys("a", "b"), long, &redislock.Options{Metadata: "reads"})
	e.must("read", err)
	two, err := e.b.ObtainRead(e.ctx, e.keys("b", "c"), time.Minute, nil)
	e.must("read beside", err)
	e.refused("b", redislock.ModeRead, "reads")
	e.want(len(e.inspect("b")[0].Holders) == 2, "two readers, but %v", e.inspect("b"))
	e.must("refresh", two.Refresh(e.ctx, long))
	e.must("release", one.Release(e.ctx))
	e.isFree("a")
	e.refused("b", redislock.ModeRead, "")
	e.must("release", two.Release(e.ctx))
	e.isFree("a", "b", "c")
}

func mixed(e *site) {
	lock, err := e.a.ObtainSet(e.ctx, redislock.Set{Write: e.keys("w"), Read: e.keys("r")}, long, &redislock.Options{Metadata: "both"})
	e.must("mixed", err)
	e.refused("w", redislock.ModeWrite, "both")
	reader, err := e.b.ObtainRead(e.ctx, e.keys("r"), long, nil)
	e.must("read beside", err)
	_, err = e.b.ObtainRead(e.ctx, e.keys("w"), long, nil)
	e.wantConflict(err, "w", redislock.ModeWrite, "both")
	e.must("release", errors.Join(reader.Release(e.ctx), lock.Release(e.ctx)))
	e.isFree("w", "r")
}

func convert(e *site) {
	lock := e.obtain(e.a, long, &redislock.Options{Metadata: "one"}, "a", "b")
	e.must("downgrade", lock.Downgrade(e.ctx))
	reader, err := e.b.ObtainRead(e.ctx, e.keys("a"), long, nil)
	e.must("read beside", err)
	err = lock.Upgrade(e.ctx)
	e.want(errors.Is(err, redislock.ErrNotObtained), "somebody else reads, but %v", err)
	e.must("release", reader.Release(e.ctx))
	e.must("upgrade", lock.Upgrade(e.ctx))
	e.refused("a", redislock.ModeWrite, "one")
	e.must("release", lock.Release(e.ctx))
	e.isFree("a", "b")
}

// A part of a set is freed, and the rest is held; the owner of a token takes the set again.
func parts(e *site) {
	token := e.name + "token"
	owner := e.a.As(token)
	lock := e.obtain(owner, long, nil, "a", "b", "c")
	e.must("release keys", lock.ReleaseKeys(e.ctx, e.keys("b")))
	e.isFree("b")
	e.refused("c", redislock.ModeWrite, "")
	other := e.obtain(e.b, long, nil, "b")
	_, err := owner.Obtain(e.ctx, e.keys("a", "b"), long, nil)
	e.wantConflict(err, "b", redislock.ModeWrite, "")
	e.must("release", other.Release(e.ctx))
	again := e.obtain(owner, long, nil, "a", "b")
	e.must("release", again.Release(e.ctx))
	e.isFree("a", "b")
	e.refused("c", redislock.ModeWrite, "")
	err = e.a.Attach(e.keys("c"), token).Release(e.ctx)
	if e.lossy && errors.Is(err, redislock.ErrLockNotHeld) {
		err = nil // the request whose reply was lost has released it, beside another lock of the token
	}
	e.must("release", err)
	e.isFree("c")
}

func leave(e *site) {
	lock := e.obtain(e.a, long, &redislock.Options{Metadata: "one"}, "a", "b")
	e.must("leave", lock.Leave(e.ctx, time.Minute))
	conflict := e.refused("a", redislock.ModeWrite, "one")
	e.want(conflict.Left && conflict.TTL <= time.Minute, "a key that was left, but %v", &conflict)
	kept := e.obtain(e.a, long, &redislock.Options{HoldAtLeast: time.Minute}, "c")
	e.must("release", kept.Release(e.ctx))
	e.want(e.refused("c", redislock.ModeWrite, "").Left, "a key that is held for longer")
	_, err := e.b.Break(e.ctx, e.keys("a", "b", "c"), "")
	e.must("break", err)
	e.isFree("a", "b", "c")
}

// Numbers grow, and the resource refuses the older one.
func fenced(e *site) {
	opt := &redislock.Options{Fenced: true}
	first := e.obtain(e.a, long, opt, "a", "b")
	e.must("release", first.Release(e.ctx))
	second, err := e.b.ObtainSet(e.ctx, redislock.Set{Write: e.keys("a"), Read: e.keys("b")}, long, opt)
	e.must("mixed", err)
	e.want(second.Fence() > first.Fence() && first.Fence() > 0, "numbers that grow, but %d and %d", first.Fence(), second.Fence())
	data := keyPrefix + e.name + "data"
	e.must("write", fencing.Set(e.ctx, e.admin, data, second.Fence(), "new", long))
	err = fencing.Set(e.ctx, e.admin, data, first.Fence(), "old", long)
	e.want(errors.Is(err, fencing.ErrStale), "the older number is refused, but %v", err)
	e.must("raise", second.RaiseFence(e.ctx, second.Fence()+1000))
	e.must("release", second.Release(e.ctx))
	third := e.obtain(e.a, long, opt, "a")
	e.want(third.Fence() > second.Fence(), "a number greater than %d, but %d", second.Fence(), third.Fence())
	e.want(e.inspect("a")[0].Fence == third.Fence(), "Inspect says %d", third.Fence())
	e.must("release", third.Release(e.ctx))
}

// A server that has not been up for long enough locks nothing.
func minUptime(e *site) {
	_, err := e.program(redislock.WithMinUptime(24*time.Hour)).Obtain(e.ctx, e.keys("a"), long, nil)
	var conflict *redislock.ConflictError
	e.want(errors.As(err, &conflict) && conflict.Mode == redislock.ModeRestarted && conflict.TTL > 0, "a restart, but %v", err)
	e.isFree("a")
	const least = 10 * time.Second
	lock, err := e.program(redislock.WithMinUptime(least)).Obtain(e.ctx, e.keys("a"), least, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond),
	})
	e.must("obtain", err)
	e.must("release", lock.Release(e.ctx))
}

// Nobody but the servers of users forgets scripts.
func forgottenScripts(e *site) {
	for range 3 {
		e.must("flush", e.admin.ScriptFlush(e.ctx).Err())
		lock := e.obtain(e.a, long, nil, "a", "b")
		e.must("flush", e.admin.ScriptFlush(e.ctx).Err())
		e.must("release", lock.Release(e.ctx))
		e.isFree("a", "b")
	}
}
