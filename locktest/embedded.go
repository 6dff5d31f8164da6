package locktest

import (
	"context"
	"crypto/fips140"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// embedded starts a server inside the test, which lives as long. Its clients talk to it in memory,
// because a bubble of testing/synctest stands still while somebody waits for the network. Its keys live
// by time.Now, which is the clock of the bubble there.
func embedded(tb testing.TB) *redis.Options {
	tb.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	tb.Cleanup(m.Close)
	return &redis.Options{
		Addr: "127.0.0.1:0", // it leads nowhere, and is no name that go-redis would look up
		Dialer: func(context.Context, string, string) (conn net.Conn, err error) {
			// Servers name scripts by SHA-1, which protects nothing: allowed also under FIPS 140-3.
			fips140.WithoutEnforcement(func() { conn, err = m.Dial() })
			return conn, err
		},
	}
}
