package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/count"
)

const (
	leastBuffer = 1 << 20 // what a subscriber's buffer should be able to hold: thousands of notices
	leastIdle   = 15      // seconds; subscriptions of the library ask every 10 s
)

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

// checkConnections looks at how many connections there may be, when one is closed on which nothing is said, and whether the server
// notices dead ones.
func checkConnections(_ context.Context, e *exam) Finding {
	e.answered(e.infoErr, byInfo)
	now, most, rejected := e.count("connected_clients"), e.number("maxclients", byConfig), e.count("rejected_connections")
	text := fmt.Sprintf("%d of %d connections are in use", now, most)
	const means = "A program that gets no connection gets no lock, and cannot renew those that it has."
	const mend = "CONFIG SET maxclients to more (and ulimit -n); or find out who opens so many: CLIENT LIST."
	status := OK
	switch {
	case most > 0 && 100*now >= 95*most:
		status = Fault
	case most > 0 && 100*now >= 80*most, rejected > 0:
		status = Warning
	}
	if status != OK {
		more := ""
		if rejected > 0 {
			more = fmt.Sprintf(", and %d were refused since the server started", rejected)
		}
		return bad(status, text+more, means, mend)
	}
	e.known = "there are connections left; when one is closed"
	idle := e.number("timeout", byConfig)
	e.known = ""
	switch keepAlive := e.number("tcp-keepalive", byConfig); {
	case idle > 0 && idle < leastIdle:
		return bad(Warning, fmt.Sprintf("connections are closed when nothing was said for %d s (timeout)", idle),
			"Clients keep connections for the next command. One that was closed costs a new one each time, with TLS several times the way there and back.",
			"CONFIG SET timeout 0, or some minutes.")
	case keepAlive == 0:
		return bad(Warning, "tcp-keepalive is off",
			"Connections of machines that are gone stay for ever, and so do their subscriptions: messages for those who stand in line go to nobody.",
			"CONFIG SET tcp-keepalive 300, and in redis.conf.")
	}
	return fine("%s", text)
}
