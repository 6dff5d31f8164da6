package wire

import "errors"

// One call stands for others that go out with it. Callers of one process that wait for the same keys ask for them again
// and again, and often at the same time. Then one of them is told who is in the way, and its answer serves the others.
// The call is sent after all of them were asked for, so it is as true for them.

// A likeness finds the calls of a batch that are alike. It has their commands by first key.
type likeness map[string][]*single

// single makes a command of a call; nil if one that it has made before stands for the call.
func (l likeness) single(c *Call) *single {
	if !c.Alike || c.IsUnanswered() { // an earlier try of it may have been granted
		return newSingle(c)
	}
	for _, s := range l[c.Keys[0]] {
		if s.call.isLike(c) {
			s.alike = append(s.alike, c)
			return nil
		}
	}
	s := newSingle(c)
	l[c.Keys[0]] = append(l[c.Keys[0]], s)
	return s
}

// isLike reports whether two calls ask for the same, each for somebody.
func (c *Call) isLike(other *Call) bool { return c.Script == other.Script && c.Run.IsLike(other.Run) }

// answerAlike hands a refusal or an error to the calls that are alike. Any other answer is about one call alone. So is
// the error of a call with a caller that has gone, which has ended its try. Then the others are sent by themselves.
func (s *single) answerAlike() {
	gone := s.call.IsAbandoned() || errors.Is(s.call.Err, ErrNotSent)
	forAll := s.call.Err != nil && !gone || s.call.Err == nil && s.call.Run.IsRefusal(s.call.Reply)
	for _, c := range s.alike {
		if c.Reply, c.Err = s.call.Reply, s.call.Err; !forAll {
			c.Reply, c.Err = nil, errUndone
		}
	}
	s.alike = nil
}
