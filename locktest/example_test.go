package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

// t stands for that of the test.
var t *testing.T

func ExampleNew() {
	client := locktest.New(t).Client() // for the code under test

	err := client.With(t.Context(), []string{"lock:order:7"}, 10*time.Second, nil, func(context.Context) error {
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The code under test makes its own Client.
func ExampleServer_Redis() {
	server := locktest.New(t)
	client := redislock.New(server.Redis(), redislock.WithKeyPrefix("lock:"))
	defer client.Close()

	server.Hold("lock:order:7") // the name in Redis
	_, err := client.Obtain(t.Context(), []string{"order:7"}, 10*time.Second, nil)
	if !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("got error %v", err)
	}
}

// Several may read, but a writer has to wait.
func ExampleServer_HoldRead() {
	server := locktest.New(t)
	reader := server.HoldRead("lock:order:7")
	time.AfterFunc(time.Second, func() { _ = reader.Release(context.Background()) })

	err := server.Client().With(t.Context(), []string{"lock:order:7"}, 10*time.Second,
		&redislock.Options{Queue: true}, func(context.Context) error { return nil })
	if err != nil {
		t.Error(err)
	}
}

// The refusal says who has the lock.
func ExampleServer_Hold() {
	server := locktest.New(t)
	server.Hold("lock:order:7")
	_, err := server.Client().Obtain(t.Context(), []string{"lock:order:7"}, 10*time.Second, nil)
	conflict, ok := errors.AsType[*redislock.ConflictError](err)
	if !ok || conflict.Metadata != locktest.SomebodyElse {
		t.Errorf("got error %v", err)
	}
}

// An operator takes the lock away, and the work stops.
func ExampleServer_Break() {
	server := locktest.New(t)
	err := server.Client().With(t.Context(), []string{"lock:order:7"}, 10*time.Second, nil, func(ctx context.Context) error {
		server.Break("lock:order:7")
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, redislock.ErrBroken) {
		t.Errorf("got error %v", err)
	}
}

// Of a Release nobody hears whether it was executed. It goes on in the background until somebody does.
func ExampleServer_Drop() {
	server := locktest.New(t)
	lock, err := server.Client().Obtain(t.Context(), []string{"lock:order:7"}, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	lost := server.Drop(locktest.Release).Always()
	if err := lock.Release(t.Context()); !errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got error %v", err)
	}
	lost.Stop()
	server.AssertFree() // it waits for that
}

// The first two attempts are refused. The third one is not.
func ExampleFault_Times() {
	server := locktest.New(t)
	refused := server.Refuse(locktest.Obtain, "LOADING Redis is loading the dataset in memory").Times(2)
	err := server.Client().With(t.Context(), []string{"lock:order:7"}, 10*time.Second, nil, func(context.Context) error {
		return nil
	})
	if err != nil || refused.Met() != 2 {
		t.Errorf("got error %v after %d refusals", err, refused.Met())
	}
}

// A caller that waits for half a second gets an answer by then, however slow the server is.
func ExampleServer_Delay() {
	server := locktest.New(t)
	server.Delay(locktest.Obtain, 3*time.Second)
	_, err := server.Client().Obtain(t.Context(), []string{"lock:order:7"}, 10*time.Second,
		&redislock.Options{Wait: 500 * time.Millisecond})
	if !errors.Is(err, redislock.ErrWaitOver) {
		t.Errorf("got error %v", err)
	}
}

// No renewal reaches the server, so the lock is lost before its lease is over.
func ExampleServer_Cut() {
	server := locktest.New(t)
	server.Cut(locktest.Any).Stop() // a fault that was stopped may have met nothing
	server.Drop(locktest.Refresh).Always()
	err := server.Client().With(t.Context(), []string{"lock:order:7"}, time.Second, nil, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, redislock.ErrLockLost) {
		t.Errorf("got error %v", err)
	}
}

// A test that leaves a lock on purpose.
func ExampleWithoutCheck() {
	server := locktest.New(t, locktest.WithoutCheck())
	if _, err := server.Client().Obtain(t.Context(), []string{"lock:order:7"}, time.Minute, nil); err != nil {
		t.Error(err)
	}
}

// A server that the test has started by itself.
func ExampleWithRedis() {
	server := locktest.New(t, locktest.WithRedis("redis://localhost:6379"))
	if err := server.Redis().Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}
