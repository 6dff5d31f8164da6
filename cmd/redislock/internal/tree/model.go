package tree

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A model is who holds and who wants which keys, as some states say.
type model struct {
	states   []redislock.KeyState
	parties  []party
	requests []request
	holders  [][]int   // of each state, by holder: the party; nobody if the key is left
	lines    [][]stand // of each state: who is alive, in order, and behind them the writer with an intent
	gone     int       // how many waiters are gone

	tokens  map[string]marks // by key; empty: nobody has compared them
	several map[string]bool  // callers' ids that are known to be more than one piece of work

	partyOf, requestOf map[string]int // by what identifies them
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
	party  int
	since  time.Time // zero for an intent
	stands []stand   // in the order of the states
}

// isIntent reports whether it is that of a writer that polls.
func (r *request) isIntent() bool { return r.stands[0].place == 0 }

// at returns which of the stands is that for a key.
func (r *request) at(state int) int {
	return slices.IndexFunc(r.stands, func(s stand) bool { return s.state == state })
}

// A stand is one key that a request waits for.
type stand struct {
	request, state int
	ahead          int // how many stand before it in the line
	place          int // the same from 1, with those who are gone; 0: an intent
	mode           redislock.Mode
}

// newModel finds out who is who.
func newModel(states []redislock.KeyState) *model {
	return (&model{partyOf: map[string]int{}, requestOf: map[string]int{}}).again(states)
}

// again is a model of the same keys as they are in other states. Parties and requests have the same numbers in both.
func (m *model) again(states []redislock.KeyState) *model {
	next := &model{states: states, tokens: m.tokens, partyOf: maps.Clone(m.partyOf), requestOf: maps.Clone(m.requestOf)}
	for _, p := range m.parties {
		next.parties = append(next.parties, party{caller: p.caller, metadata: p.metadata})
	}
	for _, r := range m.requests {
		next.requests = append(next.requests, request{party: r.party, since: r.since})
	}
	for i := range states {
		next.take(i)
	}
	return next
}

// take enters one key.
func (m *model) take(i int) {
	s := &m.states[i]
	var holders []int
	if s.Mode == redislock.ModeWrite || s.Mode == redislock.ModeRead { // else it is foreign
		for _, h := range s.Holders {
			holders = append(holders, m.holder(i, h))
		}
	}
	m.holders, m.lines = append(m.holders, holders), append(m.lines, nil)
	for w, waiter := range s.Line {
		if waiter.Alive {
			m.request(waiter.Caller, waiter.Metadata, waiter.Since, stand{state: i, place: w + 1, mode: waiter.Mode})
		} else {
			m.gone++
		}
	}
	if s.Intent != nil {
		m.request(s.Intent.Caller, s.Intent.Metadata, time.Time{}, stand{state: i, mode: redislock.ModeWrite})
	}
}

// holder enters who holds a key; nobody, if the key is left.
func (m *model) holder(state int, h redislock.Holder) int {
	if h.Left {
		return nobody
	}
	p := m.party(h.Caller, h.Metadata)
	found := &m.parties[p]
	found.runs(h.Metadata)
	if n := len(found.holds); n == 0 || found.holds[n-1] != state { // it may hold it twice, to read
		found.holds = append(found.holds, state)
	}
	return p
}

// party finds or makes a party. Without a caller's id and metadata it is a new one.
func (m *model) party(caller, metadata string) int {
	name := "process " + metadata
	if caller != "" {
		name = "caller " + caller
	}
	p, has := m.partyOf[name]
	if !has || caller == "" && metadata == "" {
		p = len(m.parties)
		m.parties = append(m.parties, party{caller: caller, metadata: metadata})
		m.partyOf[name] = p
	}
	return p
}

// runs enters the process that metadata name.
func (p *party) runs(metadata string) {
	if _, id := processOf(metadata); id != "" && !slices.Contains(p.processes, id) {
		p.processes = append(p.processes, id)
	}
}

// request finds or makes a request, and adds a key that it waits for. Intents of nobody known are requests of their own,
// because they have no place.
func (m *model) request(caller, metadata string, since time.Time, s stand) {
	isIntent := s.place == 0
	name := fmt.Sprintf("%t %d %q %q", isIntent, since.UnixMicro(), caller, metadata)
	q, has := m.requestOf[name]
	if !has || isIntent && caller == "" && metadata == "" {
		q = len(m.requests)
		m.requests = append(m.requests, request{party: m.party(caller, metadata), since: since})
		m.requestOf[name] = q
	}
	found := &m.requests[q]
	if len(found.stands) == 0 {
		p := &m.parties[found.party]
		p.requests = append(p.requests, q)
		p.runs(metadata)
	}
	s.request, s.ahead = q, len(m.lines[s.state])
	found.stands, m.lines[s.state] = append(found.stands, s), append(m.lines[s.state], s)
}

// isOne reports whether a party is one piece of work that stands in line now. Then it does nothing else meanwhile.
func (m *model) isOne(p int) bool {
	party := &m.parties[p]
	return party.caller != "" && !m.several[party.caller] && len(party.requests) == 1 && len(party.processes) <= 1 &&
		!m.requests[party.requests[0]].isIntent()
}

// conflict reports whether somebody in one mode is in the way of somebody in another one.
func conflict(a, b redislock.Mode) bool {
	return a == redislock.ModeWrite || b == redislock.ModeWrite
}

// isHeldAgainst reports whether holders of a state are in the way of somebody who wants it in a mode.
func (m *model) isHeldAgainst(state int, mode redislock.Mode) bool {
	return len(m.holders[state]) > 0 && conflict(mode, m.states[state].Mode)
}

func (m *model) isHeldBy(state, p int) bool {
	_, held := slices.BinarySearch(m.parties[p].holds, state)
	return held
}

// isPerhapsOwn reports whether a request has the token with which its party holds a key, and if that is not known, whether it
// may have it. With that token the key, and its line, are not in its way, but for other readers if it wants to write.
func (m *model) isPerhapsOwn(q, state int) (is, isKnown bool) {
	if has, isKnown := m.hasToken(q, state); isKnown {
		return has && m.isHeldBy(state, m.requests[q].party), true
	}
	return m.wouldWait(q, state), false
}

// wouldWait reports whether a request would have to wait, too, if it had the token with which its party holds a key. If not, it
// has another one: with this one it would not wait.
func (m *model) wouldWait(q, state int) bool {
	p := m.requests[q].party
	if !m.isHeldBy(state, p) {
		return false
	}
	return slices.ContainsFunc(m.requests[q].stands, func(s stand) bool {
		isByAnother := slices.ContainsFunc(m.holders[s.state], func(other int) bool { return other != p })
		isBehind := slices.ContainsFunc(m.lines[s.state][:s.ahead], func(before stand) bool { return conflict(s.mode, before.mode) })
		return isByAnother && m.isHeldAgainst(s.state, s.mode) || isBehind && !m.isHeldBy(s.state, p)
	})
}
