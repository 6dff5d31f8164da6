package cli

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	Reachable = time.Minute
	redistest.Main(m)
}
