package tied

import (
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/server"
)

// This file is how a world is written down as the keys of a server, and read back.

// begin is the moment from which worlds count, by the clock of the server. It is the first of a second, because guards end
// with a second.
const begin = 2_500_000_000 * time.Second

// at is a moment as the server counts it, ms.
func at(moment time.Duration) int64 { return (begin + moment).Milliseconds() }

// since is a moment of a world, of ms by the clock of the server.
func since(ms int64) time.Duration { return time.Duration(ms)*time.Millisecond - begin }

// beginMicros is what is added to a number of a world.
var beginMicros = begin.Microseconds()

// A cast is the wishes of those who may stand in line, by id.
type cast map[string]Wish

func castOf(wishes []Wish) cast {
	all := cast{}
	for _, w := range wishes {
		all[w.ID] = w
	}
	return all
}

// write makes the keys of a server. The entries of those who live are half as old as they may be.
func (all cast) write(w World) server.Space {
	space := server.Space{}
	for _, h := range w.Holds {
		if h.Mode == Write {
			space[h.Key] = &server.Thing{Kind: server.String, Text: valueOf(h.Token), End: at(h.Until)}
			continue
		}
		space.Add(h.Key, valueOf(h.Token), float64(at(h.Until)))
		space[h.Key].End = max(space[h.Key].End, at(h.Until))
	}
	for _, e := range w.Ends {
		if space[e.Key] != nil {
			space[e.Key].End = at(e.Until)
		}
	}
	for _, its := range w.Waiters {
		till := at(w.Now + proto.WaiterLife/2)
		if its.Dead {
			till = at(w.Now)
		}
		wants := server.ObtainingOf(Call{Request: all[its.ID].Obtain(proto.Place{})}.read())
		for i, s := range wants.Set {
			if slices.Contains(its.Lines, s.Key) {
				space.Add(s.Line, wants.EntryFor(i, till).String(), float64((begin + its.Place).Microseconds()))
				space[s.Line].End = at(w.Now + proto.WaiterLife)
			}
		}
	}
	for _, g := range w.Guards {
		line := slot.Beside("line", g.Key)
		space.Add(line, g.Owner, server.Guard{Number: float64(g.Number), End: (begin + g.Until).Seconds()}.Score())
		space[line].End = max(space[line].End, at(g.Until+time.Second))
	}
	for _, n := range w.Numbers {
		space[slot.Beside("fence", n.Key)] = &server.Thing{
			Kind: server.Hash, Fields: map[string]string{server.Greatest: decimal(beginMicros + n.Last)}, End: at(w.Now + 48*time.Hour),
		}
	}
	for _, i := range w.Intents {
		space[slot.Beside("intent", i.Key)] = &server.Thing{Kind: server.String, Text: i.Token, End: at(i.Until)}
	}
	return space
}

// valueOf is what is stored of a token. Nobody writes metadata.
func valueOf(token string) string {
	if token == "" {
		return string(server.Value("").Left())
	}
	return token
}

// read reads the keys of a server. What it does not know it takes for what it most looks like, with the text as the token or the id.
func (all cast) read(space server.Space, now time.Duration) World {
	w := World{Now: now}
	for name, thing := range space {
		purpose, key, _ := slot.Apart(name)
		switch purpose {
		case "line":
			all.readLine(&w, key, thing)
		case "fence":
			last := number(thing.Fields[server.Greatest]) - beginMicros
			w.Numbers = append(w.Numbers, Number{key, last})
		case "intent":
			w.Intents = append(w.Intents, Intent{key, tokenOf(thing.Text), since(thing.End)})
		default:
			w.Ends = append(w.Ends, End{name, since(thing.End)})
			if thing.Kind == server.String {
				w.Holds = append(w.Holds, Hold{name, tokenOf(thing.Text), Write, since(thing.End)})
			}
			for _, m := range thing.Members {
				w.Holds = append(w.Holds, Hold{name, tokenOf(m.Text), Read, since(int64(m.Score))})
			}
		}
	}
	w.settle()
	return w
}

func tokenOf(text string) string { return server.Value(text).Token() }

// readLine reads the guards and the entries of one line.
func (all cast) readLine(w *World, key string, line *server.Thing) {
	for _, m := range line.Members {
		if m.IsGuard() {
			g := server.GuardOf(m.Score)
			until := time.Duration(g.End)*time.Second - begin
			w.Guards = append(w.Guards, Guard{key, m.Text, int64(g.Number), until})
			continue
		}
		e := server.EntryOf(m)
		its := Waiter{ID: e.ID, Place: time.Duration(int64(e.Place)-beginMicros) * time.Microsecond, Dead: e.Till <= at(w.Now)}
		if !all.isWritten(e, key) {
			its.ID = m.Text
		}
		i := slices.IndexFunc(w.Waiters, func(other Waiter) bool {
			return other.ID == its.ID && other.Place == its.Place && other.Dead == its.Dead
		})
		if i < 0 {
			i = len(w.Waiters)
			w.Waiters = append(w.Waiters, its)
		}
		w.Waiters[i].Lines = append(w.Waiters[i].Lines, key)
	}
}

// isWritten reports whether an entry in the line of a key says what its waiter wants.
func (all cast) isWritten(e server.Entry, key string) bool {
	its, ok := all[e.ID]
	if !ok {
		return false
	}
	wants := server.ObtainingOf(Call{Request: its.Obtain(proto.Place{})}.read())
	i := slices.IndexFunc(wants.Set, func(s server.Spot) bool { return s.Key == key })
	return i >= 0 && wants.EntryFor(i, e.Till).String() == e.Text
}
