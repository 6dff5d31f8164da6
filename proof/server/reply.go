package server

// This file is how the answers of scripts look in their replies.

// An answer is that of a script which takes, keeps or gives back a set.
type answer struct {
	code     Code
	fenced   bool
	number   int64     // of the hold, if it is fenced
	refusals []Refusal // what is in the way, the first one first
	stands   *stands   // in line
	indexes  []int     // of the keys that are not the token's, from 1
	broken   []Broken
	told     []string // what the caller is told, and would have heard on its channel
	open     bool     // the guards could not be set
	more     bool     // not all who are gone were dropped
}

// A stands is how somebody stands in line.
type stands struct {
	place  float64
	micros int64
	askIn  int64 // ms; -1: it will be told
	heard  bool  // somebody hears its channel
}

// A Broken is an owner that has lost a key.
type Broken struct {
	Index int // of the key, from 1
	Mode  Mode
	Value Value
	Left  int64 // ms of its lease
}

func (a answer) reply() any {
	list := []any{int64(a.code)}
	if a.fenced {
		list = append(list, a.number)
	}
	for k, r := range a.refusals {
		list = append(list, int64(r.Index), string(r.Mode), r.Left, r.Detail)
		if k == 0 && a.stands != nil {
			list = append(list, int64(a.stands.place), a.stands.micros, a.stands.askIn, one(a.stands.heard))
		}
	}
	for _, i := range a.indexes {
		list = append(list, int64(i))
	}
	for _, b := range a.broken {
		list = append(list, int64(b.Index), string(b.Mode), b.Value.Metadata(), b.Left, one(b.Value.IsLeft()), b.Value.Since())
	}
	for _, text := range a.told {
		list = append(list, text)
	}
	if a.open {
		list = append(list, "open")
	}
	if a.more {
		list = append(list, "more")
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// one is how a reply says yes or no.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// A lease is the least one of a set.
type lease struct {
	lost int   // the first key that is not the token's, from 1; 0: none
	left int64 // ms; -1: for ever
}

func (l lease) reply() any {
	if l.lost > 0 {
		return []any{int64(NotYours), int64(l.lost)}
	}
	return []any{int64(Done), l.left}
}

// codes are the answers to a bundle, of each caller.
type codes []Code

func (all codes) reply() any {
	list := make([]any, len(all))
	for i, code := range all {
		list[i] = int64(code)
	}
	return list
}

// A turn is when a waiter has to ask by itself.
type turn struct {
	index int   // of the waiter, from 1
	askIn int64 // ms
}

// turns are those of a round, and the microsecond of the server's clock.
type turns struct {
	micros int64
	asks   []turn
}

func (t turns) reply() any {
	list := []any{t.micros}
	for _, w := range t.asks {
		list = append(list, int64(w.index), w.askIn)
	}
	return list
}

// A View is what Inspect tells of a key.
type View struct {
	Mode       Mode
	Left       int64 // ms
	Number     int64
	IntentLeft int64
	Intent     Value
	Holders    []Holder
	Line       []Seen
}

// A Holder is one who holds a key, or the type of a key that is no lock.
type Holder struct {
	Detail string
	Left   int64
	IsLeft bool
	Since  string
}

// A Seen is a waiter.
type Seen struct {
	Entry
	Alive bool
}

func (v View) reply() any {
	list := []any{string(v.Mode), v.Left, v.Number, v.IntentLeft, v.Intent.Metadata(), v.Intent.Since(), int64(len(v.Holders))}
	for _, h := range v.Holders {
		list = append(list, h.Detail, h.Left, one(h.IsLeft), h.Since)
	}
	for _, s := range v.Line {
		list = append(list, string(s.Mode), s.Value.Metadata(), int64(s.Place), one(s.Alive))
	}
	return list
}
