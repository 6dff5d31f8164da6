package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock/internal/count"
)

const (
	leastBuffer = 1 << 20 // what a subscriber's buffer should be able to hold: thousands of notices
	leastIdle   = 15      // seconds; subscriptions of the library ask every 10 s
)

// checkBuffers looks at the limit for subscribers, and at what they have not read yet.
func checkBuffers(ctx context.Context, p *patient) []Finding {
	return p.primaries(func(n *node) Finding {
		limits, err := n.setting("client-output-buffer-limit")
		if err != nil {
			return notSeen(err, "+config|get")
		}
		hard, soft, found := pubsubLimits(limits)
		if !found {
			return notSeen(oddity(fmt.Sprintf("the setting client-output-buffer-limit is %q", limits)), "+config|get")
		}
		clients, err := n.rdb.Do(ctx, "client", "list", "type", "pubsub").Text()
		if err != nil {
			f := judgeBuffers(hard, soft, nil)
			if f.Status == OK {
				f = notSeen(err, "+client|list").after("the limit is wide enough; what subscribers have not read")
			}
			return f
		}
		return judgeBuffers(hard, soft, waiting(clients))
	})
}

// pubsubLimits reads "normal 0 0 0 slave 256 64 60 pubsub 32 8 60".
func pubsubLimits(text string) (hard, soft int64, found bool) {
	words := strings.Fields(text)
	for i := 0; i+3 < len(words); i += 4 {
		if words[i] == "pubsub" {
			hard, err1 := strconv.ParseInt(words[i+1], 10, 64)
			soft, err2 := strconv.ParseInt(words[i+2], 10, 64)
			return hard, soft, err1 == nil && err2 == nil
		}
	}
	return 0, 0, false
}

// waiting is how many bytes each client has in its buffer, by CLIENT LIST.
func waiting(clients string) []int64 {
	var all []int64
	for word := range strings.FieldsSeq(clients) {
		if text, is := strings.CutPrefix(word, "omem="); is {
			n, _ := strconv.ParseInt(text, 10, 64)
			all = append(all, n)
		}
	}
	return all
}

// judgeBuffers judges the limits, 0 for none, and what subscribers have in their buffers.
func judgeBuffers(hard, soft int64, waiting []int64) Finding {
	least := hard
	if soft > 0 && (soft < least || least == 0) {
		least = soft
	}
	const mend = `CONFIG SET client-output-buffer-limit "pubsub 32mb 8mb 60", and in redis.conf.`
	const cut = "The server cuts the connection of a subscriber that reads too slowly. Those who stand in line subscribe again, and what they have missed costs them up to 5 s."
	if least > 0 && least < leastBuffer {
		return bad(Warning, "subscribers are cut off with "+bytes(least)+" in their buffers", cut, mend)
	}
	full := 0
	for _, n := range waiting {
		if least > 0 && n > least/2 {
			full++
		}
	}
	if full > 0 {
		return bad(Warning, fmt.Sprintf("%s of %d have more than half of %s in their buffers", count.Of(full, "subscriber"), len(waiting), bytes(least)),
			cut, "find out why they do not read (CLIENT LIST TYPE pubsub); "+mend)
	}
	if least == 0 {
		return fine("subscribers' buffers have no limit")
	}
	return fine("subscribers are cut off with %s in their buffers, and none is near to that", bytes(least))
}

// checkConnections looks at how many connections there may be, and when one is closed.
func checkConnections(_ context.Context, p *patient) []Finding {
	return p.everywhere(func(n *node) Finding {
		if n.infoErr != nil {
			return notSeen(n.infoErr, "+info")
		}
		most, err := n.number("maxclients")
		if err != nil {
			return notSeen(err, "+config|get")
		}
		if f := judgeCount(n.count("connected_clients"), most, n.count("rejected_connections")); f.Status != OK {
			return f
		}
		idle, err := n.number("timeout")
		if err != nil {
			return notSeen(err, "+config|get").after("there are connections left; when one is closed")
		}
		keepAlive, err := n.number("tcp-keepalive")
		if err != nil {
			return notSeen(err, "+config|get")
		}
		return judgeIdle(n.count("connected_clients"), most, idle, keepAlive)
	})
}

func judgeCount(now, most, rejected int64) Finding {
	text := fmt.Sprintf("%d of %d connections are in use", now, most)
	if rejected > 0 {
		text += fmt.Sprintf(", and %d were refused since the server started", rejected)
	}
	const means = "A program that gets no connection gets no lock, and cannot renew those that it has."
	const mend = "CONFIG SET maxclients to more (and ulimit -n); or find out who opens so many: CLIENT LIST."
	switch {
	case most > 0 && 100*now >= 95*most:
		return bad(Fault, text, means, mend)
	case most > 0 && 100*now >= 80*most, rejected > 0:
		return bad(Warning, text, means, mend)
	}
	return fine("%s", text)
}

// judgeIdle judges when the server closes connections on which nothing is said, and whether it notices dead ones.
func judgeIdle(now, most, idle, keepAlive int64) Finding {
	switch {
	case idle > 0 && idle < leastIdle:
		return bad(Warning, fmt.Sprintf("connections are closed when nothing was said for %d s (timeout)", idle),
			"Clients keep connections for the next command. One that was closed costs a new one each time, with TLS several times the way there and back.",
			"CONFIG SET timeout 0, or some minutes.")
	case keepAlive == 0:
		return bad(Warning, "tcp-keepalive is off",
			"Connections of machines that are gone stay for ever, and so do their subscriptions: messages for those who stand in line go to nobody.",
			"CONFIG SET tcp-keepalive 300, and in redis.conf.")
	}
	return fine("%d of %d connections are in use", now, most)
}
