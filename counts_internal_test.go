package redislock

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// Texts with a number are right for one as well.
func TestTextsForOne(t *testing.T) {
	rdb := redistest.StartMini(t).Client(t)
	client := New(rdb, WithMaxMetadata(0))
	t.Cleanup(client.Close)
	if _, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, waited := client.Obtain(ctx, []string{"a"}, time.Minute, &Options{RetryStrategy: LinearBackoff(time.Hour)})
	_, long := client.Obtain(t.Context(), []string{"b"}, time.Minute, &Options{Metadata: "m"})
	few := &call{}
	few.Replicas = wire.Replicas{Wanted: 1, Within: time.Second}
	for want, err := range map[string]error{
		"and 1 attempt: ": waited, "has 1 byte,": long, "0 of 1 replica acknowledged": few.short(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want it to say %q", err, want)
		}
	}
}
