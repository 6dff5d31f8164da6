package decode

import (
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// This file reads what each script is called with.

func (r *reader) obtain() {
	o := &proto.Obtain{Value: &r.Value, Declares: len(r.args) > 4}
	n := len(r.keys) / 2
	if o.Declares {
		n = len(r.keys) / 3
	}
	n = r.head(true, n, behind)
	r.Set = r.set(n, true, false)
	r.Set.Writes = n
	if o.Declares {
		o.Intent, o.Intents = r.ms(r.text()), r.some(n)
	}
	o.Set, o.TTL, o.All = r.Set, r.TTL, r.Can.All
	r.Obtain = o
}

func (r *reader) rw() {
	o := &proto.Obtain{Value: &r.Value}
	n := 0
	if len(r.args) > 5 {
		n = int(r.parse(r.args[4]) + r.parse(r.args[5]))
	}
	n = r.head(true, n, behind)
	writes, reads := int(r.number()), int(r.number())
	r.bad = r.bad || n != writes+reads
	intent := r.text()
	fenced := r.isSet()
	o.Declares, o.Intent, o.MinUptime = intent != "", r.ms(intent), r.ms(r.text())
	r.Set = r.set(n, true, fenced)
	r.Set.Writes = writes
	switch {
	case len(r.args) > 0:
		o.Waiter = &proto.Waiter{ID: r.text(), Place: r.place()}
		r.bad = r.bad || r.ms(r.text()) != proto.WaiterLife
		o.Waiter.Sharded, o.Waiter.Channel = r.text() == "s", r.text()
	case o.Declares:
		o.Intents = r.some(n)
	default:
		o.Intents = r.some(reads)
	}
	o.Set, o.TTL, o.All = r.Set, r.TTL, r.Can.All
	r.Obtain = o
}

func (r *reader) release() {
	fenced := len(r.args) > 4 && r.args[4] == "1"
	n := len(r.keys) / 2
	if fenced {
		n = len(r.keys) / 3
	}
	n = r.head(false, n, behind)
	r.Set = r.set(n, true, fenced)
	q := &proto.Release{Set: r.Set, Value: &r.Value, Channel: r.text()}
	_ = r.text() // fenced
	q.Waiter, q.Place = r.text(), r.place()
	r.Left = r.ms(r.text())
	for len(r.args) > 0 {
		index, mark, _ := strings.Cut(r.text(), "|")
		r.Spared = append(r.Spared, Spared{int(r.parse(index)) - 1, mark})
	}
	q.Looks = r.Can.Search
	r.Release = q
}

func (r *reader) refresh() {
	q := &proto.Refresh{Value: &r.Value, NeverShortens: len(r.args) > 4 && r.args[4] == "1"}
	n, stamped := len(r.keys), len(r.args) > 2 && r.args[2] != ""
	if !q.NeverShortens {
		n /= 2
	}
	n = r.head(true, n, func(n int) int {
		if q.NeverShortens && !stamped {
			return 0
		}
		return n + 1
	})
	_ = r.text() // whether it shortens
	r.Set = r.set(n, !q.NeverShortens, false)
	q.Set, q.TTL = r.Set, r.TTL
	r.Refresh = q
}

func (r *reader) convert() {
	q := &proto.Convert{Value: &r.Value}
	fenced := len(r.args) > 5 && r.args[5] == "1"
	n := len(r.keys) / 2
	if fenced {
		n = len(r.keys) / 3
	}
	n = r.head(true, n, behind)
	writes := int(r.number())
	_ = r.text() // fenced
	q.Keeps = r.isSet()
	r.Set = r.set(n, true, fenced)
	r.Set.Writes = writes
	q.Set, q.TTL = r.Set, r.TTL
	r.Convert = q
}

func (r *reader) raise() {
	stamped := len(r.args) > 2 && r.args[2] != ""
	n := r.head(true, len(r.keys)/2, func(n int) int {
		if !stamped {
			return 0
		}
		return 2*n + 1
	})
	r.Set = r.set(n, false, true)
	r.Raise = &proto.Raise{Set: r.Set, Value: &r.Value, TTL: r.TTL, Number: r.number()}
}

func (r *reader) breaks() {
	n := r.head(false, len(r.keys)/3, behind)
	r.Set = r.set(n, true, true)
	r.Break = &proto.Break{Set: r.Set, Value: &r.Value, Channel: r.text(), Text: r.text()}
}

func (r *reader) again() {
	r.bad = r.ms(r.text()) != proto.WaiterLife
	r.Set = r.set(len(r.keys)/2, true, false)
	for len(r.args) > 0 && !r.bad {
		w := Waiter{ID: r.text(), Place: r.place()}
		for n := r.number(); n > 0 && !r.bad; n-- {
			w.Keys = append(w.Keys, int(r.number())-1)
		}
		r.Again = append(r.Again, w)
	}
}

func (r *reader) batch() {
	all := r.set(len(r.keys)/2, true, false)
	r.Set = all
	for len(r.args) > 0 && !r.bad {
		n := int(r.number())
		if r.bad = r.bad || n < 0 || n > len(all.Keys); r.bad {
			return
		}
		p := Plain{Set: proto.Set{Keys: all.Keys[:n], Lines: all.Lines[:n], Writes: n}, Value: r.text()}
		p.TTL = time.Duration(r.number()) * time.Millisecond
		all.Keys, all.Lines = all.Keys[n:], all.Lines[n:]
		r.Batch = append(r.Batch, p)
	}
}
