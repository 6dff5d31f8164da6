package locktest

import (
	"context"
	"crypto/fips140"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Start starts a server inside this process, and a client for it; stop ends both. It is for an Example,
// and for trying the library out; a test has [New]. In a program, rdb is
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
func Start() (rdb *redis.Client, stop func()) {
	opt, stopServer := embedded()
	rdb = redis.NewClient(opt)
	return rdb, func() {
		_ = rdb.Close()
		stopServer()
	}
}

// embeddedFor is embedded for as long as a test.
func embeddedFor(tb testing.TB) *redis.Options {
	tb.Helper()
	opt, stop := embedded()
	tb.Cleanup(stop)
	return opt
}

// embedded starts a server. Its clients talk to it in memory, because a bubble of testing/synctest stands still
// while somebody waits for the network. Its keys live by time.Now, which is the clock of the bubble there.
func embedded() (opt *redis.Options, stop func()) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	return &redis.Options{
		Addr: "127.0.0.1:0", // it leads nowhere, and is no name that go-redis would look up
		Dialer: func(context.Context, string, string) (conn net.Conn, err error) {
			// Servers name scripts by SHA-1, which protects nothing: allowed also under FIPS 140-3.
			fips140.WithoutEnforcement(func() { conn, err = m.Dial() })
			return conn, err
		},
	}, m.Close
}
