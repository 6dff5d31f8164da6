package check_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A simulation plays a lock service and its callers in virtual time, by a seed, and writes the history that they would
// write. The service does what the library promises, unless a defect is planted. It has its own idea of how: what the
// checkers know of the library is not used here.
type simulation struct {
	rng     *rand.Rand
	profile profile
	defect  defect
	planted int // how often the defect made a difference

	now    time.Duration
	queue  moments
	seq    int
	log    history.History
	server *server
	procs  []*process
	tokens int
}

// A profile says what happens in a simulation.
type profile struct {
	name     string
	endless  bool // no lease ends
	kills    bool
	stops    bool
	losses   bool // of requests and replies
	breaks   bool
	tokens   bool // of the callers' own
	queues   bool // most callers stand in line
	election bool
}

const (
	simulated = 12 * time.Second // for which callers begin new operations
	faultsEnd = 10 * time.Second
	simEnd    = 40 * time.Second
)

// simulate plays one round.
func simulate(seed uint64, p profile, d defect) *simulation {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 7)), profile: p, defect: d}
	s.server = &server{s: s, keys: map[string]*skey{}, seen: map[string]int64{}}
	for i := range 3 + s.rng.IntN(3) {
		s.procs = append(s.procs, s.newProcess(i+1))
	}
	if p.losses {
		s.write(history.Event{At: 0, Kind: history.Fault, Name: "loss", Op: 1})
		s.write(history.Event{At: faultsEnd, Kind: history.Healed, Name: "loss", Op: 1})
	}
	s.write(history.Event{At: faultsEnd + 10*time.Millisecond, Kind: history.Settled})
	for len(s.queue) > 0 && s.now <= simEnd {
		m := heap.Pop(&s.queue).(moment)
		s.now = m.at
		m.do()
	}
	s.write(history.Event{At: simEnd, Kind: history.Note, Name: "the end"})
	s.log.Sort()
	return s
}

func (s *simulation) write(e history.Event) { s.log.Events = append(s.log.Events, e) }

// at does something at a moment.
func (s *simulation) at(at time.Duration, do func()) {
	s.seq++
	heap.Push(&s.queue, moment{max(at, s.now), s.seq, do})
}

// latency is how long something takes from one machine to another.
func (s *simulation) latency() time.Duration {
	if random.Chance(s.rng, 5) {
		return random.Between(s.rng, time.Millisecond, 25*time.Millisecond)
	}
	return random.Between(s.rng, 50*time.Microsecond, 2*time.Millisecond)
}

// newToken is one that nobody else has.
func (s *simulation) newToken() string {
	s.tokens++
	return fmt.Sprintf("#%d", s.tokens)
}

type moment struct {
	at  time.Duration
	seq int
	do  func()
}

type moments []moment

func (m moments) Len() int { return len(m) }
func (m moments) Less(i, j int) bool {
	return m[i].at < m[j].at || m[i].at == m[j].at && m[i].seq < m[j].seq
}
func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)   { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	*m = (*m)[:last]
	return x
}

// A process has callers, and may be stopped and killed.
type process struct {
	*simulation
	number int
	ops    int
	stops  []stop
	dead   time.Duration
	open   int // callers that go on
}

// A stop is when a process does not run.
type stop struct{ begin, end time.Duration }

func (s *simulation) newProcess(number int) *process {
	p := &process{simulation: s, number: number, dead: simEnd * 2}
	at := time.Duration(0)
	for at < faultsEnd {
		at += random.Between(s.rng, 0, 4*time.Second)
		stop := stop{at, at + random.Between(s.rng, time.Millisecond, 50*time.Millisecond)} // too short to be noticed
		if s.profile.stops && random.Chance(s.rng, 40) {
			stop.end = at + random.Between(s.rng, 100*time.Millisecond, 3*time.Second)
		}
		if stop.end > faultsEnd {
			break
		}
		p.stops = append(p.stops, stop)
		at = stop.end + 100*time.Millisecond
		if length := stop.end - stop.begin; length > 30*time.Millisecond {
			p.soon(stop.end+random.Between(s.rng, 0, 20*time.Millisecond), func() {
				p.write(history.Event{Kind: history.Stall, For: s.now - stop.begin})
			})
		}
	}
	if s.profile.kills && random.Chance(s.rng, 50) {
		p.dead = random.Between(s.rng, time.Second, faultsEnd)
		s.at(p.dead+random.Between(s.rng, 0, 5*time.Millisecond), func() {
			s.write(history.Event{At: s.now, Kind: history.Killed, Op: number})
		})
	}
	for n := range 1 + s.rng.IntN(3) {
		c := &caller{process: p, number: n + 1}
		p.open++
		p.soon(random.Between(s.rng, 0, 200*time.Millisecond), c.next)
	}
	return p
}

// write writes an event of the process.
func (p *process) write(e history.Event) {
	e.At, e.Process = p.now, p.number
	p.simulation.write(e)
}

// soon has the process do something at a moment, or as soon as it runs again, and nothing if it is dead then.
func (p *process) soon(at time.Duration, do func()) {
	p.at(at, func() {
		if p.now >= p.dead {
			return
		}
		for _, stop := range p.stops {
			if p.now >= stop.begin && p.now < stop.end {
				p.soon(stop.end+random.Between(p.rng, 0, 5*time.Millisecond), do)
				return
			}
		}
		do()
	})
}

// ask sends a request, which is executed at the server, and gets the reply; or it gives up after a while.
func (p *process) ask(execute func() any, answer func(any), giveUp func()) {
	lost := p.profile.losses && p.now < faultsEnd && random.Chance(p.rng, 6)
	executed := !lost || random.Chance(p.rng, 50)
	over := false
	arrives := p.now + p.latency()
	p.at(arrives, func() {
		if !executed {
			return
		}
		reply := execute()
		if lost {
			return
		}
		p.soon(p.now+p.latency(), func() {
			if !over {
				over = true
				answer(reply)
			}
		})
	})
	if lost {
		p.soon(p.now+300*time.Millisecond, func() {
			if !over {
				over = true
				giveUp()
			}
		})
	}
}
