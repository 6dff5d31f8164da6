package work

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

const (
	tick = 20 * time.Millisecond
	late = 10 * time.Millisecond // by which a tick has to be late to be written down
)

// Stalls writes down when the process did not run, until ctx ends.
func Stalls(ctx context.Context, out *history.Writer) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := history.Now()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := history.Now()
		if now-last > tick+late {
			out.Add(history.Event{At: now, Kind: history.Stall, For: now - last})
		}
		last = now
	}
}
