package server

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// What a step costs a model that explores: it copies the keys, and runs a script.
func BenchmarkRun(b *testing.B) {
	d := Obtaining{Head: Head{Set: []Spot{spotOf("a"), spotOf("b")}, Writes: 2, Value: "t2", TTL: 1000}, Line: &proto.Waiter{ID: ids[1], Channel: "p:one"}}
	space := Space{}
	for i, s := range d.Set {
		space.set(s.Key, "t1", begin/1000+1000)
		space.Add(s.Line, d.EntryFor(i, begin/1000+15_000).String(), float64(begin))
		space[s.Line].End = begin/1000 + 30_000
	}
	keys := []string{"a", "b", d.Set[0].Line, d.Set[1].Line}
	s := &Server{Micros: begin, Heard: func(bool, string) int { return 1 }}
	for b.Loop() {
		s.Space = space.Clone()
		if o := s.Run("release", keys, []string{"t1"}); o.Reply != int64(1) {
			b.Fatal(o)
		}
	}
}
