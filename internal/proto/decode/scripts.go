package decode

import (
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// This file reads the arguments of each script.

func (r *reader) obtain() {
	r.head(true)
	o := &proto.Obtain{Set: r.Set, Value: &r.Value, TTL: r.TTL}
	if intent := r.text(); intent != "" {
		o.Declares, o.Intent, o.Intents = true, r.ms(intent), r.some(len(r.Set.Keys))
	}
	r.Obtain = o
}

func (r *reader) rw() {
	r.head(true)
	o := &proto.Obtain{Set: r.Set, Value: &r.Value, TTL: r.TTL, Block: r.Can.Block}
	id, place := r.text(), r.text()
	entry := r.text()
	o.MinUptime = r.ms(r.text())
	switch {
	case id != "":
		o.Waiter = &proto.Waiter{ID: id}
		o.Waiter.Place, o.Waiter.Age = r.where(place)
		r.entry(o.Waiter, entry)
	case place != "":
		o.Declares, o.Intent, o.Intents = true, r.ms(place), r.some(len(r.Set.Keys))
	default:
		o.Intents = r.some(len(r.Set.Keys) - r.Set.Writes)
	}
	r.Obtain = o
}

// entry reads from a waiter's entry what it says of the channel.
func (r *reader) entry(w *proto.Waiter, text string) {
	f := strings.SplitN(text, "|", 6)
	if len(f) < 6 || len(f[0]) < 4 {
		r.bad = true
		return
	}
	n := int(r.parse(f[3]))
	if r.bad = r.bad || n < 0 || n > len(f[5]); !r.bad {
		w.Sharded, w.Channel = f[0][1] == 's', f[5][:n]
	}
}

func (r *reader) release() {
	r.head(true)
	r.Left, r.TTL = r.TTL, 0
	r.HasCaller = len(r.args) > 0
	q := &proto.Release{Set: r.Set, Value: &r.Value, Channel: r.text(), Waiter: r.text(), Looks: r.Can.Search}
	if r.Release = q; strings.HasPrefix(q.Waiter, ">") {
		block := q.Waiter == ">b"
		q.Waiter = ""
		age, ttl, value := -r.number(), r.number(), r.text()
		r.Next = &proto.Next{
			Value: &value, TTL: time.Duration(ttl) * time.Millisecond, Age: time.Duration(age) * time.Microsecond, Block: block,
		}
		return
	}
	q.Place = r.place()
	for len(r.args) > 0 {
		r.Spared = append(r.Spared, int(r.number())-1)
	}
}

func (r *reader) refresh() {
	isLong := len(r.args) > 2 && strings.Contains(r.args[2], "n")
	r.head(!isLong)
	r.Refresh = &proto.Refresh{Set: r.Set, Value: &r.Value, TTL: r.TTL, NeverShortens: isLong}
}

func (r *reader) convert() {
	r.head(true)
	r.Convert = &proto.Convert{Set: r.Set, Value: &r.Value, TTL: r.TTL, Keeps: r.Can.Long}
}

func (r *reader) raise() {
	r.head(true)
	r.Raise = &proto.Raise{Set: r.Set, Value: &r.Value, TTL: r.TTL, Number: r.number()}
}

func (r *reader) breaks() {
	r.head(true)
	r.Break = &proto.Break{Set: r.Set, Value: &r.Value, Channel: r.text(), Text: r.text()}
}

func (r *reader) again() {
	r.head(true)
	for len(r.args) > 0 && !r.bad {
		w := Waiter{ID: r.text(), Place: r.place()}
		for n := r.number(); n > 0 && !r.bad; n-- {
			w.Keys = append(w.Keys, int(r.number())-1)
		}
		r.Round = append(r.Round, w)
	}
}

func (r *reader) batch() {
	all := r.set(len(r.keys)/2, true, false)
	r.Set = all
	for len(r.args) > 0 && !r.bad {
		p := Plain{Value: r.text(), TTL: r.ms(r.text())}
		n := int(r.number())
		if r.bad = r.bad || n < 0 || n > len(all.Keys); r.bad {
			return
		}
		p.Set = proto.Set{Keys: all.Keys[:n], Lines: all.Lines[:n], Writes: n}
		all.Keys, all.Lines = all.Keys[n:], all.Lines[n:]
		r.Batch = append(r.Batch, p)
	}
}
