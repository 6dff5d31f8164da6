package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Kind is what a key holds, as TYPE says it.
type Kind string

// The kinds that the library writes. Somebody else may have written others.
const (
	None   Kind = "none"
	String Kind = "string"
	Sorted Kind = "zset"
	Hash   Kind = "hash"
)

// A Thing is what is stored under a key.
type Thing struct {
	Kind    Kind
	Text    string            // of a string
	Members []Member          // of a sorted set, in order
	Fields  map[string]string // of a hash
	End     int64             // when its lease is over, ms of the server's clock; 0: never
}

// A Member is one of a sorted set.
type Member struct {
	Text  string
	Score float64
}

// A Space is all keys of a server.
type Space map[string]*Thing

// Clone returns a copy of a key space that shares nothing with it.
func (s Space) Clone() Space {
	all := make(Space, len(s))
	for key, thing := range s {
		its := *thing
		its.Members, its.Fields = slices.Clone(thing.Members), maps.Clone(thing.Fields)
		all[key] = &its
	}
	return all
}

// Expire deletes the keys whose lease is over at this ms. In its last one a key is still there, with nothing left.
func (s Space) Expire(now int64) {
	maps.DeleteFunc(s, func(_ string, thing *Thing) bool { return thing.End != 0 && thing.End < now })
}

// String lists the keys, for the message of a test.
func (s Space) String() string {
	var lines []string
	for key, thing := range s {
		line := fmt.Sprintf("  %q: %s", key, thing.Kind)
		if thing.Kind == String {
			line += fmt.Sprintf(" %q", thing.Text)
		}
		for _, m := range thing.Members {
			line += fmt.Sprintf(" %q at %.17g", m.Text, m.Score)
		}
		for _, field := range slices.Sorted(maps.Keys(thing.Fields)) {
			line += fmt.Sprintf(" %q = %q", field, thing.Fields[field])
		}
		lines = append(lines, fmt.Sprintf("%s, until %d", line, thing.End))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A Failure is an error that a script replies.
type Failure string

func (f Failure) Error() string { return string(f) }

// wrongType is what a command says of a key that holds something else. A script ends with it.
const wrongType Failure = "WRONGTYPE Operation against a key holding the wrong kind of value"

func (s Space) kind(key string) Kind {
	if thing := s[key]; thing != nil {
		return thing.Kind
	}
	return None
}

// of returns a key of this kind, nil if there is none. If the key is of another kind the script fails.
func (s Space) of(kind Kind, key string) *Thing {
	thing := s[key]
	if thing != nil && thing.Kind != kind {
		panic(wrongType)
	}
	return thing
}

// text returns a string, and whether there is one.
func (s Space) text(key string) (text string, ok bool) {
	if thing := s[key]; thing != nil && thing.Kind == String {
		return thing.Text, true
	}
	return "", false
}

// members returns the members of a sorted set, none if the key is of another kind.
func (s Space) members(key string) []Member {
	if thing := s[key]; thing != nil && thing.Kind == Sorted {
		return thing.Members
	}
	return nil
}

// set makes a key a string with a lease of its own.
func (s Space) set(key, text string, end int64) { s[key] = &Thing{Kind: String, Text: text, End: end} }

// Add puts a member into a sorted set, or gives it another score. A new set has no lease yet.
func (s Space) Add(key, text string, score float64) {
	set := s.of(Sorted, key)
	if set == nil {
		set = &Thing{Kind: Sorted}
		s[key] = set
	}
	set.Members = slices.DeleteFunc(set.Members, func(m Member) bool { return m.Text == text })
	set.Members = append(set.Members, Member{text, score})
	slices.SortFunc(set.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Text, b.Text))
	})
}

// remove takes members out of a sorted set, which goes with the last.
func (s Space) remove(key string, is func(Member) bool) {
	set := s.of(Sorted, key)
	if set == nil {
		return
	}
	if set.Members = slices.DeleteFunc(set.Members, is); len(set.Members) == 0 {
		delete(s, key)
	}
}

// score returns the score of a member, and whether it is there.
func (s Space) score(key, text string) (score float64, ok bool) {
	for _, m := range s.members(key) {
		if m.Text == text {
			return m.Score, true
		}
	}
	return 0, false
}

// put writes fields of a hash.
func (s Space) put(key string, fields map[string]string) {
	hash := s.of(Hash, key)
	if hash == nil {
		hash = &Thing{Kind: Hash, Fields: map[string]string{}}
		s[key] = hash
	}
	maps.Copy(hash.Fields, fields)
}

// field returns a field of a hash, and whether it is there.
func (s Space) field(key, name string) (text string, ok bool) {
	if hash := s.of(Hash, key); hash != nil {
		text, ok = hash.Fields[name]
	}
	return text, ok
}

// forget deletes fields of a hash, which goes with the last. What is no hash is left alone.
func (s Space) forget(key string, names ...string) {
	hash := s[key]
	if hash == nil || hash.Kind != Hash {
		return
	}
	for _, name := range names {
		delete(hash.Fields, name)
	}
	if len(hash.Fields) == 0 {
		delete(s, key)
	}
}

// ends gives a key another end. One that is over already deletes it.
func (s Space) ends(key string, end, now int64) {
	switch thing := s[key]; {
	case thing == nil:
	case end <= now:
		delete(s, key)
	default:
		thing.End = end
	}
}

// The leases that PTTL tells of keys that have none.
const (
	forEver int64 = -1
	isGone  int64 = -2
)

// left is for how long a key is still there, ms.
func (s Space) left(key string, now int64) int64 {
	switch thing := s[key]; {
	case thing == nil:
		return isGone
	case thing.End == 0:
		return forEver
	default:
		return thing.End - now
	}
}
