// Walker does one act with the library, and writes down which functions of the library the act has entered. It is built with
// -cover and -covermode=atomic, and with -coverpkg of the packages that are counted and of its own, without which there would be
// no counters.
//
//	walker WALK ADDRESS NAME FOLDER
//
// WALK is a name in walks. ADDRESS is that of a Redis server. The keys begin with NAME, so that many walkers can use one server.
// The counters are written into FOLDER.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

const (
	// longest is after how long a walk that does not end is given up.
	longest = 2 * time.Minute
	// lease is the ttl of all locks without a watchdog: none of them ends during a walk.
	lease = 5 * time.Minute
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "walker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("usage: walker WALK ADDRESS NAME FOLDER")
	}
	walk, found := walks[args[0]]
	if !found {
		return fmt.Errorf("no walk has the name %q", args[0])
	}
	return walk(ctx, &walker{address: args[1], name: args[2], folder: args[3]})
}

// A walker is where one walk takes place.
type walker struct {
	address string
	name    string
	folder  string
}

// key is a key of this walker.
func (w *walker) key(name string) string { return w.name + ":" + name }

// client returns a Client that has used all scripts of the walks: what a Client and a server do only once is done.
func (w *walker) client(ctx context.Context, address string) (*redislock.Client, error) {
	client := redislock.New(redis.NewClient(&redis.Options{Addr: address}))
	lock, err := client.Obtain(ctx, []string{w.key("first")}, lease, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(lock.Refresh(ctx, lease), lock.Release(ctx)); err != nil {
		return nil, err
	}
	set := redislock.Set{Write: []string{w.key("first")}, Read: []string{w.key("second")}}
	lock, err = client.ObtainSet(ctx, set, lease, &redislock.Options{Queue: true})
	if err != nil {
		return nil, err
	}
	return client, lock.Release(ctx)
}

// begins has the counters begin at nothing, when nothing of the library is at work. The act follows.
func (w *walker) begins(ctx context.Context) error {
	if err := rest(ctx); err != nil {
		return err
	}
	return coverage.ClearCounters()
}

// ends writes the counters, when the library has done what the act has begun.
func (w *walker) ends(ctx context.Context) error {
	if err := rest(ctx); err != nil {
		return err
	}
	return errors.Join(coverage.WriteCountersDir(w.folder), coverage.WriteMetaDir(w.folder))
}
