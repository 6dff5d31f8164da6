package proto

import (
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
)

// This file says how refresh.lua, lua/convert.lua, lua/raise.lua and pttl.lua are called, for sets that are held. Run.Verdict
// reads their replies.

// A Refresh begins a new lease.
type Refresh struct {
	Set   Set
	Value *string
	TTL   time.Duration
	// NeverShortens leaves longer leases as they are, so that it is never too late.
	NeverShortens bool
}

// Fill makes a new Run of this request.
func (q Refresh) Fill(r *Run) {
	r.fill(refreshScript, &q.Set, q.Value, q.TTL)
	r.effect, r.may.looks = owners.Lessens, true
	if q.NeverShortens {
		r.effect = owners.Lengthens
		r.neverShorten()
	}
}

// neverShorten has a refresh leave longer leases as they are. Then nobody in line has to be told.
func (r *Run) neverShorten() { r.beside, r.lined, r.may.keeps = nil, false, true }

// A Convert makes the first keys of a set write keys, and the others read keys, and begins a new lease.
type Convert struct {
	Set   Set // as it is to be
	Value *string
	TTL   time.Duration
	Keeps bool // longer leases stay as they are
}

// Fill makes a new Run of this request.
func (q Convert) Fill(r *Run) {
	r.fill(convertScript, &q.Set, q.Value, q.TTL)
	r.beside = q.Set.beside()
	r.writes, r.effect = q.Set.Writes, owners.Lessens
	r.may = abilities{looks: true /* before or after */, fenced: q.Set.IsFenced(), keeps: q.Keeps}
}

// A Raise gives a set this fencing number, unless it has a greater one. It takes nothing away.
type Raise struct {
	Set    Set
	Value  *string
	TTL    time.Duration // of the set
	Number int64
}

// Fill makes a new Run of this request.
func (q Raise) Fill(r *Run) {
	r.fill(raiseScript, &q.Set, q.Value, q.TTL)
	r.beside, r.own = q.Set.beside(), []any{q.Number}
	r.effect, r.may = owners.Lengthens, abilities{looks: true, fenced: true}
}

// A TTL asks for how much longer a set is held.
type TTL struct {
	Set   Set
	Value *string
	Known bool // callers know the token, and may have used it with other metadata
}

// Fill makes a new Run of this request.
func (q TTL) Fill(r *Run) {
	r.fill(pttlScript, &q.Set, q.Value, 0)
	r.form(false, q.Known)
}

// TTL reads the reply to a [TTL]: for how long, negative if without end, and whether the set is the token's at all.
func (r *Run) TTL(reply any) (ttl time.Duration, ours bool, err error) {
	code, rest := code(reply, true)
	ms := rest.number()
	switch {
	case rest.bad, code != Done && code != NotYours, code == Done && (ms == 0 || ms < -1):
		return 0, false, r.Garbled(reply)
	case code == NotYours:
		return 0, false, nil
	}
	return clock.FromMillis(ms), true, nil
}
