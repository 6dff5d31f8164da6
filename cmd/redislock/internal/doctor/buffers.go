package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/count"
)

// leastBuffer is what a subscriber's buffer should be able to hold: thousands of notices.
const leastBuffer = 1 << 20

var (
	pubsubLimits = regexp.MustCompile(`(?:^| )pubsub (\d+) (\d+) `) // in "normal 0 0 0 slave 256 64 60 pubsub 32 8 60"
	unread       = regexp.MustCompile(`\somem=(\d+)`)               // in CLIENT LIST: the bytes in the buffer of a client
)

// checkBuffers looks at the limit for subscribers, and at what they have not read yet.
func checkBuffers(ctx context.Context, e *exam) Finding {
	setting := e.setting("client-output-buffer-limit", byConfig)
	limits := pubsubLimits.FindStringSubmatch(setting)
	if limits == nil {
		e.answered(oddity(fmt.Sprintf("the setting client-output-buffer-limit is %q", setting)), byConfig)
		return Finding{}
	}
	least := leastOf(limits[1:])
	clients, err := e.rdb.Do(ctx, "client", "list", "type", "pubsub").Text()
	f := judgeBuffers(least, clients)
	if f.Status == OK {
		e.known = "the limit is wide enough; what subscribers have not read"
		e.answered(err, "+client|list")
	}
	return f
}

// leastOf is the smallest of some limits, of which 0 is none.
func leastOf(limits []string) (least int64) {
	for _, text := range limits {
		if n, _ := strconv.ParseInt(text, 10, 64); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// judgeBuffers judges the least limit, 0 for none, and what subscribers have in their buffers.
func judgeBuffers(least int64, clients string) Finding {
	const mend = `CONFIG SET client-output-buffer-limit "pubsub 32mb 8mb 60", and in redis.conf.`
	const cut = "The server cuts the connection of a subscriber that reads too slowly. Those who stand in line subscribe again, and what they have missed costs them up to 5 s."
	if least == 0 {
		return fine("subscribers' buffers have no limit")
	}
	if least < leastBuffer {
		return bad(Warning, "subscribers are cut off with "+bytes(least)+" in their buffers", cut, mend)
	}
	full, all := 0, unread.FindAllStringSubmatch(clients, -1)
	for _, one := range all {
		if n, _ := strconv.ParseInt(one[1], 10, 64); n > least/2 {
			full++
		}
	}
	if full > 0 {
		return bad(Warning, fmt.Sprintf("%s of %d have more than half of %s in their buffers", count.Of(full, "subscriber"), len(all), bytes(least)),
			cut, "find out why they do not read (CLIENT LIST TYPE pubsub); "+mend)
	}
	return fine("subscribers are cut off with %s in their buffers, and none is near to that", bytes(least))
}
