package tree

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A model is who holds and who wants which keys, as some states say.
type model struct {
	states   []redislock.KeyState
	parties  []party
	requests []request
	holders  [][]int // of each state, by holder: the party; nobody if the key is left
	line     [][]int // of each state, by waiter: the request; nobody if the waiter is gone
	intents  []int   // of each state: the request; nobody if there is no intent
	gone     int     // how many waiters are gone

	tokens  map[string]marks // by key; nil: nobody has compared them
	several map[string]bool  // callers' ids that are known to be more than one piece of work
}

// A party is somebody who holds keys or waits for them.
type party struct {
	caller, metadata string
	holds            []int // states, each once
	requests         []int
	processes        []string // that its metadata name, each once
}

// isKnown reports whether more than one lock or waiter can be seen to be of it.
func (p *party) isKnown() bool { return p.caller != "" || p.metadata != "" }

// A request is one Obtain that waits.
type request struct {
	party    int
	since    time.Time // zero for an intent
	metadata string
	intent   bool
	stands   []stand // in the order of the states
}

// A stand is one key that a request waits for.
type stand struct {
	state int
	place int // index in the line; behind all of it for an intent
	mode  redislock.Mode
}

// newModel finds out who is who.
func newModel(states []redislock.KeyState) *model {
	b := builder{model: &model{states: states}, parties: map[string]int{}, requests: map[string]int{}}
	for i := range states {
		b.take(i)
	}
	return b.model
}

// A builder is what a model needs while it is made.
type builder struct {
	*model
	parties, requests map[string]int // by what identifies them
}

// take enters one key.
func (b *builder) take(i int) {
	s := b.states[i]
	holders, line, intent := make([]int, len(s.Holders)), make([]int, len(s.Line)), nobody
	if s.Mode != redislock.ModeWrite && s.Mode != redislock.ModeRead {
		holders = nil // of a foreign key
	}
	for h := range holders {
		holder := s.Holders[h]
		holders[h] = nobody
		if holder.Left {
			continue
		}
		p := b.party(holder.Caller, holder.Metadata)
		holders[h] = p
		if held := b.model.parties[p].holds; len(held) == 0 || held[len(held)-1] != i { // it may hold it twice, to read
			b.model.parties[p].holds = append(held, i)
		}
	}
	for w, waiter := range s.Line {
		if !waiter.Alive {
			line[w] = nobody
			b.gone++
			continue
		}
		name := strconv.FormatInt(waiter.Since.UnixMicro(), 10)
		line[w] = b.request(name, waiter.Caller, waiter.Metadata, request{since: waiter.Since}, stand{i, w, waiter.Mode})
	}
	if s.Intent != nil {
		stands := stand{i, len(s.Line), redislock.ModeWrite}
		intent = b.request("intent", s.Intent.Caller, s.Intent.Metadata, request{intent: true}, stands)
	}
	b.holders, b.line, b.intents = append(b.holders, holders), append(b.line, line), append(b.intents, intent)
}

// party finds or makes a party. Without a caller's id and metadata it is a new one.
func (b *builder) party(caller, metadata string) int {
	name := "process " + metadata
	if caller != "" {
		name = "caller " + caller
	}
	p, has := b.parties[name]
	if !has || caller == "" && metadata == "" {
		p = len(b.model.parties)
		b.model.parties = append(b.model.parties, party{caller: caller, metadata: metadata})
		b.parties[name] = p
	}
	found := &b.model.parties[p]
	if process, ok := processOf(metadata); ok && !slices.Contains(found.processes, process.id()) {
		found.processes = append(found.processes, process.id())
	}
	return p
}

// request finds or makes a request, and adds a key that it waits for. Intents of nobody known are requests of their own,
// because they have no place.
func (b *builder) request(name, caller, metadata string, r request, s stand) int {
	name = strconv.Quote(name) + strconv.Quote(caller) + strconv.Quote(metadata)
	q, has := b.requests[name]
	if !has || r.intent && caller == "" && metadata == "" {
		q = len(b.model.requests)
		r.party, r.metadata = b.party(caller, metadata), metadata
		b.model.requests = append(b.model.requests, r)
		b.requests[name] = q
		p := &b.model.parties[r.party]
		p.requests = append(p.requests, q)
	}
	found := &b.model.requests[q]
	found.stands = append(found.stands, s)
	return q
}

// isOne reports whether a party is one piece of work, which stands in line now: then it does nothing else meanwhile.
func (m *model) isOne(p int) bool {
	party := &m.parties[p]
	return party.caller != "" && !m.several[party.caller] && len(party.requests) == 1 && len(party.processes) <= 1 &&
		!m.requests[party.requests[0]].intent
}

// isHeldAgainst reports whether holders of a state are in the way of somebody who wants it in a mode.
func (m *model) isHeldAgainst(state int, mode redislock.Mode) bool {
	return len(m.holders[state]) > 0 && (mode == redislock.ModeWrite || m.states[state].Mode == redislock.ModeWrite)
}

// before returns the request right before a place in the line of a state, of those that a request in this mode has to
// let go first; nobody if there is none.
func (m *model) before(s stand) int {
	for w := s.place - 1; w >= 0; w-- {
		if m.line[s.state][w] == nobody {
			continue
		}
		if s.mode == redislock.ModeWrite || m.states[s.state].Line[w].Mode == redislock.ModeWrite {
			return m.line[s.state][w]
		}
	}
	return nobody
}

// isHeldBy reports whether a party holds a key.
func (m *model) isHeldBy(state, p int) bool {
	_, held := slices.BinarySearch(m.parties[p].holds, state)
	return held
}

// isPerhapsOwn reports whether a request may have the token with which its party holds a key. Then the key, and its line,
// are not in its way, but for other readers if it wants to write.
func (m *model) isPerhapsOwn(q, state int) bool {
	if has, known := m.hasToken(q, state); known {
		return has && m.isHeldBy(state, m.requests[q].party)
	}
	return m.wouldWait(q, state)
}

// wouldWait reports whether a request would have to wait, too, if it had the token with which its party holds a key. If not, it
// has another one: with this one it would not wait.
func (m *model) wouldWait(q, state int) bool {
	p := m.requests[q].party
	if !m.isHeldBy(state, p) {
		return false
	}
	for _, s := range m.requests[q].stands {
		if !m.isHeldBy(s.state, p) && m.before(s) != nobody {
			return true
		}
		isHeld := m.isHeldAgainst(s.state, s.mode)
		if isHeld && slices.ContainsFunc(m.holders[s.state], func(other int) bool { return other != p }) {
			return true
		}
	}
	return false
}
