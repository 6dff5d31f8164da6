// Package listen_test has the tests of waiters and listeners by themselves: what they are told, and when subscriptions begin and
// end. There is no Redis, and no lock: a server in memory knows channels only, and time passes at once.
package listen_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
