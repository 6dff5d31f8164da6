package redistest

import (
	"context"
	"crypto/fips140"
	"fmt"
	"net"
	"reflect"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Mini is a miniredis with a clock that runs. By itself miniredis freezes every time-to-live until its clock is moved.
// Here each command first lets the time pass that has really passed since the last one. So a key is gone at its time to
// the microsecond, and TIME and the times-to-live agree. Where Redis freezes the expiry of keys for the length of a
// script, Mini does not.
//
// The clock is time.Now: within a testing/synctest bubble (see [PipeMini]) the
// bubble's. Mini is safe for concurrent use.
type Mini struct {
	m    *miniredis.Miniredis
	pipe bool // clients dial in memory
}

// StartMini runs a Mini on a loopback port for the time of the test.
func StartMini(tb testing.TB) *Mini {
	tb.Helper()
	m, err := LaunchMini()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Stop)
	return m
}

// LaunchMini is [StartMini] without a test: the caller calls [Mini.Stop].
func LaunchMini() (*Mini, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := withSHA1(func() error { return m.StartAddr("127.0.0.1:0") }); err != nil {
		return nil, fmt.Errorf("redistest: start miniredis: %w", err)
	}
	return &Mini{m: m}, nil
}

// withSHA1 runs fn, and the goroutines that it starts, with SHA-1 allowed also
// where FIPS 140-3 is enforced: miniredis names scripts by it, as Redis does.
func withSHA1(fn func() error) (err error) {
	fips140.WithoutEnforcement(func() { err = fn() })
	return err
}

// PipeMini runs a Mini without a port: its clients talk to it in memory. Started
// inside a testing/synctest bubble it lives on the bubble's clock, which network
// connections would hold up. Its Addr leads nowhere, but is an address: go-redis
// looks up a name when a client is made, and the resolver does not survive being
// woken up inside a bubble.
func PipeMini(tb testing.TB) *Mini {
	tb.Helper()
	m := &Mini{m: miniredis.NewMiniRedis(), pipe: true}
	m.m.ClockTTL(true)
	tb.Cleanup(m.Stop)
	return m
}

// Addr is where Mini listens.
func (m *Mini) Addr() string {
	if m.pipe {
		return "127.0.0.1:0"
	}
	return m.m.Addr()
}

// Kind is [Miniredis].
func (m *Mini) Kind() Kind { return Miniredis }

// Client returns a client with go-redis's default options apart from the
// address, changed by mod, closed when the test ends.
func (m *Mini) Client(tb testing.TB, mod ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	if !m.pipe {
		return newClient(tb, m.Addr(), mod)
	}
	dial := func(opt *redis.Options) {
		opt.PoolSize = pipePool
		setPipelinePool(opt, pipePool)
		opt.Dialer = func(context.Context, string, string) (conn net.Conn, err error) {
			err = withSHA1(func() error { conn, err = m.m.Dial(); return err })
			return conn, err
		}
	}
	return newClient(tb, m.Addr(), append([]func(*redis.Options){dial}, mod...))
}

// pipePool is how many connections a client in memory may have, unless its test says otherwise: so many that no
// goroutine waits for one. A goroutine that waits uses a timer that go-redis keeps for all of its clients. If such a
// timer of a bubble is used outside of that bubble, it ends the process.
const pipePool = 1000

// setPipelinePool says how many connections a client has for pipelines. From v9.22.0 on go-redis keeps them apart. The root is
// tested with the oldest that it requires, too, so the field is looked for when a test runs.
func setPipelinePool(opt *redis.Options, size int64) {
	if field := reflect.ValueOf(opt).Elem().FieldByName("PipelinePoolSize"); field.IsValid() {
		field.SetInt(size)
	}
}

// Miniredis is the server itself, to set its clock, look at its data or have it
// answer errors.
func (m *Mini) Miniredis() *miniredis.Miniredis { return m.m }

// Stop ends the server and all its connections. It may be called more than once.
func (m *Mini) Stop() { m.m.Close() }
