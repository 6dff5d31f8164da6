package tied

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/proof/server"
)

// A Call is one run of a script.
type Call struct {
	Request proto.Request
	Stamp   owners.Stamp  // what it says of its owner; if it yields, the request is sent as one that takes nothing away
	Left    time.Duration // of a Release: for how long it leaves its keys. It stands here because a request counts by the clock of this machine.
}

// run is the run of the call.
func (c Call) run() *proto.Run {
	r := new(proto.Run)
	c.Request.Fill(r)
	if c.Stamp.Yields && !r.Yield() {
		panic("a Client does not send this")
	}
	r.Prepare(&c.Stamp)
	return r
}

// words are the name of the script, its KEYS and its ARGV.
func (c Call) words() (script string, keys, args []string) {
	r := c.run()
	words := decode.Words(r.Append(nil))
	n, err := strconv.Atoi(words[0])
	if err != nil {
		panic(err) // package proto says first how many keys there are
	}
	keys, args = words[1:1+n], words[1+n:]
	if c.Left > 0 {
		for len(args) < 2 {
			args = append(args, "")
		}
		args[1] = decimal(c.Left.Milliseconds())
	}
	return r.Script().Name(), keys, args
}

// read reads the call, as a server does.
func (c Call) read() decode.Call {
	read, err := decode.Decode(c.words())
	if err != nil {
		panic(err) // package proto has written it
	}
	return read
}

// String says how the script is called.
func (c Call) String() string {
	script, keys, args := c.words()
	return fmt.Sprintf("%s, KEYS %q, ARGV %q", script, keys, args)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// number reads digits. Anything else is 0.
func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// A Reply is what the reply to a call says. Which of it is there depends on the script.
type Reply struct {
	Code     proto.Code
	Err      string
	Missing  []string         // keys that are not the token's
	Broken   []string         // keys that were taken from somebody
	InTheWay []proto.Conflict // whom or what a refusal names
	Number   int64            // the fencing number of the hold, counted as a world does; 0: there is none
	Place    time.Duration    // where the waiter stands
	AskIn    time.Duration    // when to ask again, if nothing is heard; negative: the reply does not say
	Heard    bool             // somebody hears the channel of the waiter
	TTL      time.Duration
	Asks     map[int]time.Duration // when those have to ask of whom a round asks, by index from 0
}

// replyOf reads a reply.
func (c Call) replyOf(o server.Outcome) (reply Reply) {
	err := o.Err
	if err == nil {
		reply, err = c.parse(o.Reply)
	}
	if err != nil {
		reply.Err = err.Error()
	}
	return reply
}

func (c Call) parse(said any) (reply Reply, err error) {
	r := c.run()
	said, _ = proto.TakeMore(said)
	said, _ = proto.TakeOpen(said)
	switch q := c.Request.(type) {
	case *proto.Obtain:
		var a proto.Answer
		a, err = r.Answer(said)
		reply = Reply{Code: a.Code, Number: numberSince(a.Numbers.First), AskIn: a.AskIn, Heard: a.Heard}
		if a.Code == proto.InLine {
			reply.Place = time.Duration(a.Place.Number()-beginMicros) * time.Microsecond
		}
		if a.Conflict != (proto.Conflict{}) {
			reply.InTheWay = []proto.Conflict{a.Conflict}
		}
	case *proto.Round:
		_, reply.Asks, err = r.Asks(said, q.Size())
	case proto.TTL:
		var ours bool
		reply.TTL, ours, err = r.TTL(said)
		if reply.Code = proto.NotYours; ours {
			reply.Code = proto.Done
		}
	case proto.Break:
		broken, conflict, failed := r.Broken(said)
		err, reply.Code = failed, proto.Done
		if said == proto.Withdrawn {
			reply.Code = proto.Overtaken
		}
		for _, b := range broken {
			reply.Broken = append(reply.Broken, b.Key)
		}
		if conflict != nil {
			reply.Code, reply.InTheWay = proto.Refused, []proto.Conflict{*conflict}
		}
	default:
		var v proto.Verdict
		v, err = r.Verdict(said)
		reply = Reply{Code: v.Code, Missing: v.Missing, Number: numberSince(v.Number)}
		if v.Conflict != (proto.Conflict{}) {
			reply.InTheWay = []proto.Conflict{v.Conflict}
		}
	}
	return reply, err
}

// numberSince is a fencing number as a world counts it; 0 if there is none.
func numberSince(n int64) int64 {
	if n == 0 {
		return 0
	}
	return n - beginMicros
}
