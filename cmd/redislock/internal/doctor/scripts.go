package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

const (
	// heldUp is how long a script may take before the check says so: as long as the library allows its own to be, see WithMaxKeys.
	heldUp = 100 * time.Millisecond
	// leastBusy is the least threshold that lets the largest sets be handed over.
	leastBusy = 500
	recent    = 24 * time.Hour
	slowest   = 128 // entries of the slow log that are read
)

// checkScripts looks at scripts that were slow, and at when the server answers BUSY.
func checkScripts(ctx context.Context, p *patient) []Finding {
	return p.primaries(func(n *node) Finding {
		threshold, err := n.number("busy-reply-threshold")
		if err != nil {
			threshold, err = n.number("lua-time-limit") // before Redis 7
		}
		if err == nil && threshold > 0 && threshold < leastBusy {
			return bad(Warning, fmt.Sprintf("the server answers BUSY when a script has run for %d ms", threshold),
				"A lock of thousands of keys may take that long. Then others get an error instead of waiting, and somebody may stop the script.", "CONFIG SET busy-reply-threshold 5000 (lua-time-limit before Redis 7).")
		}
		entries, err := n.rdb.SlowLogGet(ctx, slowest).Result()
		if err != nil {
			return notSeen(err, "+slowlog|get")
		}
		return judgeSlow(entries, time.Now())
	})
}

// judgeSlow judges the scripts in the slow log, those of all programs.
func judgeSlow(entries []redis.SlowLog, now time.Time) Finding {
	n, longest := 0, time.Duration(0)
	for _, e := range entries {
		if len(e.Args) == 0 || now.Sub(e.Time) > recent || e.Duration < heldUp {
			continue
		}
		if name := strings.ToLower(e.Args[0]); name == "evalsha" || name == "eval" || name == "fcall" {
			n, longest = n+1, max(longest, e.Duration)
		}
	}
	if n == 0 {
		return fine("no script has taken %s in the last day, as far as the slow log goes", heldUp)
	}
	return bad(Warning, fmt.Sprintf("%s took more than %s in the last day, up to %s", count.Of(n, "script"), heldUp, cli.Duration(longest)),
		"The server does nothing else meanwhile: every lock waits, and renewals come late. They may be scripts of other programs.",
		"SLOWLOG GET says which; give locks a server of their own, or lock fewer keys at once.")
}
