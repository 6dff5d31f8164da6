// Package local is models of callers that wait in one Client: the first of them alone stands in Redis, at the place of its
// arrival, and a Release carries the next one. They stand beside docs/waiting.md. Package passing has how a hold is passed on
// without Redis.
//
// # What is modelled
//
// A server (script.go, places.go) has two keys, with their holders, readers and lines, and the guards of the owners of requests.
// Up to five callers of up to four Clients (next.go, wait.go) obtain a set of write and read keys once each. The first of them
// holds its keys at the start. Those of a Client that want the same set, and write a key of it, form a local line; the others
// ask by themselves. A place is the arrival of the caller, later by the time for which its request was under way, and moved in all
// lines if somebody has it already. A Release carries the first of the local line, if that has never asked. Between any two steps
// of one caller anything may happen to the others:
//   - a request, or its answer, is lost, or the request is executed late: that of an Obtain, and a Release, which is one request
//     of two owners;
//   - a caller gives up while it waits, asks, is carried or stands in line, and its clean-up is executed later;
//   - a request takes longer than others wait for it, or the server refuses it for its own sake, and its caller pauses;
//   - there is no memory for what a Release writes for the one that it carries;
//   - a lease ends in the hands of its holder;
//   - the process of a Client is killed, its requests are executed yet, and its connection is gone later.
//
// In each state
//   - no two hold locks that exclude each other, and whoever counts on a lock has it in Redis;
//   - nobody was given its keys before somebody alive who stood in line, wanted one of them, and had come before: to within the
//     way of that one's request; nor before one that came before it in its local line, whose request was sent in time or not at all;
//   - a Release that was executed, and was not overtaken, has freed the keys of the releaser.
//
// When nothing can happen any more nobody waits, no key is locked for somebody whose call has ended, and nobody stands in
// line who is gone. A waiter has no other message than those of the scripts; in "killed" it asks every now and then as well.
//
// # What is not
//
// Time: a lease ends at any moment, and package passing counts. Waiters whose entries are too old, lost messages, connections
// that are cut: package line. Fencing numbers. A line that expires because of a place that is later than now. Callers that poll.
// Two callers at one place: nobody notices, because each script takes the same one for the first. That a Release carries somebody
// only if the whole set is as the releaser took it, and the guard of the releaser, whose token is used once: without these nothing
// is violated here. Of the requests of one kind that are under way when a process is killed the last is executed, no other.
//
// # What cannot be promised
//
// If the server's clock is set back, whoever comes then is before those that stand in line (clock).
//
// # Why it is true of the scripts
//
// It is a model of what happens inside a process. Its server is not compared with the scripts. The Release that carries is: by the
// matrix, and by the courses that the model server and the scripts play.
package local

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A rule is one that can be left out.
type rule int8

const (
	none rule = iota
	apart
	newcomers
	looks
	newestOnly
	tellsFirst
	slowly
	pausing
	leaves
	neverAsked
	marked
	foremost
	order
	bothGuards
	ownHalf
	closes
	givesUp
	freesFirst
	tellsNext
	takenIn
	atOnce
	code
	clock
)

var rules = explore.Table[rule]{
	apart:      {Name: "apart", Text: "a collision is moved in one line alone"},
	newcomers:  {Name: "newcomers", Text: "a place is that of the request, not of the arrival"},
	looks:      {Name: "looks", Text: "whoever enters is refused by whoever stands there, also behind its place"},
	newestOnly: {Name: "newestonly", Text: "whoever enters looks at the last of a line only"},
	tellsFirst: {Name: "tellsfirst", Text: "whoever enters before others is not told when the lease is over"},
	slowly:     {Name: "slowly", Text: "a first whose request takes long keeps the others back"},
	pausing:    {Name: "pausing", Text: "a first that pauses keeps the others back"},
	leaves:     {Name: "leaves", Text: "whoever returns stays in the local line"},
	neverAsked: {Name: "neverasked", Text: "a Release carries one that has asked"},
	marked:     {Name: "marked", Text: "whom a Release carries is not marked, and may ask meanwhile"},
	foremost:   {Name: "foremost", Text: "a Release carries the first that has never asked, also behind one that has"},
	order:      {Name: "order", Text: "whom a Release carries goes before all who stand in line"},
	bothGuards: {Name: "bothguards", Text: "a Release that carries asks for the guard of the releaser alone"},
	ownHalf:    {Name: "ownhalf", Text: "below the guard of the next nothing is done at all"},
	closes:     {Name: "closes", Text: "whoever was carried without an answer does not close that"},
	givesUp:    {Name: "givesup", Text: "whoever gives up while it is carried sends nothing"},
	freesFirst: {Name: "freesfirst", Text: "a Release first writes the keys of the next, which may fail"},
	tellsNext:  {Name: "tellsnext", Text: "a Release without an answer does not tell whom it carried"},
	takenIn:    {Name: "takenin", Text: "nobody takes in the answer to a Release whose context has ended"},
	atOnce:     {Name: "atonce", Text: "whoever was carried and not given its keys waits for a message"},
	code:       {Name: "code", Text: "a Release that was executed counts as one that gave the keys to the next"},
	clock:      {Name: "clock", Text: "the server's clock is set back: then those who come are before those who stand"},
}

// A role is whose caller somebody is, and what it wants.
type role struct {
	client int8
	want   want
}

// A program is who comes, and what may happen. The first caller holds its keys at the start.
type program struct {
	name     string
	roles    [callers]role // without a want: nobody
	together bool          // all others, each of another Client, have come at one moment
	asks     bool          // whoever stands in line asks every now and then
	killed   int           // whose process may be killed
	budget
	without rule
}

// Groups returns the models of this package.
func Groups() []explore.Group { return GroupsWith(0) }

// GroupsWith returns the same models, in which so many more requests may stay without an answer, and so many more callers give up.
// They take long.
func GroupsWith(more int) []explore.Group {
	return []explore.Group{{
		Name:     "local",
		Proves:   "A local line stands in Redis at the age of its first, and a Release that carries the next leaves nothing behind.",
		Page:     "docs/waiting.md#standing-in-line",
		Programs: func(without string) []explore.Program { return programs(rules.Named(without), more) },
		Rules: rules.Of(
			apart, newcomers, looks, newestOnly, tellsFirst, slowly, pausing, leaves, neverAsked, marked, foremost, order,
			bothGuards, ownHalf, closes, givesUp, freesFirst, tellsNext, takenIn, atOnce, code, clock,
		),
	}}
}

func writes(client int8, k set) role { return role{client, want{writes: k}} }
func reads(client int8, k set) role  { return role{client, want{reads: k}} }
func mixed(client int8) role         { return role{client, want{writes: a, reads: b}} }

// programs are what is searched, without one rule.
func programs(without rule, more int) (all []explore.Program) {
	two := [callers]role{writes(0, a|b), writes(0, a|b), writes(1, a)}
	strangers := [callers]role{writes(3, a|b), writes(0, a|b), writes(1, a|b), writes(2, a)}
	line := [callers]role{writes(0, a|b), writes(0, a|b), writes(0, a|b), writes(1, a)}
	overlap := [callers]role{writes(0, a|b), writes(0, a|b), writes(1, a|b), writes(2, a)}
	clients := [callers]role{writes(0, a|b), writes(0, a|b), writes(0, a|b), writes(1, a|b), writes(1, a|b)}
	reading := [callers]role{mixed(0), mixed(0), reads(1, b), writes(2, b)}
	readers := [callers]role{reads(0, a|b), mixed(1), mixed(1), reads(0, b), writes(2, b)}
	for _, m := range []program{
		{name: "carried", roles: two, budget: budget{losses: 1, cancels: 1, full: 1, steps: 1}},
		{name: "lease ends", roles: line, budget: budget{ends: 1, cancels: 1}},
		{name: "pauses", roles: line, budget: budget{pauses: 1, slow: 1, ends: 1}},
		{name: "clients", roles: clients},
		{name: "together", roles: strangers, together: true, budget: budget{cancels: 1, ends: 1}},
		{name: "readers", roles: readers},
		{name: "reading", roles: reading, budget: budget{losses: 1}},
		{name: "lost", roles: line, budget: budget{losses: 1, slow: 1}},
		{name: "killed", roles: overlap, asks: true, budget: budget{kills: 1, cancels: 1}},
		{name: "overlap", roles: overlap, budget: budget{losses: 1}},
	} {
		if m.losses > 0 {
			m.losses += int8(more)
		}
		if m.cancels > 0 {
			m.cancels += int8(more)
		}
		m.without = without
		all = append(all, explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: m.isWrong, End: m.end})
	}
	return all
}

func (m *program) start() (s state) {
	s.left = m.budget
	for p, r := range m.roles {
		switch {
		case r.want == (want{}):
			s.callers[p].phase = over
		case m.together:
			s.callers[p].phase, s.callers[p].arrived = local, 1
			s.clock = 1
		}
	}
	s.callers[0].phase = holding
	(&script{&s, m}).take(0)
	return s
}
