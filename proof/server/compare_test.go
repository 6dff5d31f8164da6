package server

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// A Step is a run of a script, with all that it depends on beside the keys.
type Step struct {
	Script string
	Keys   []string
	Args   []string
	Micros int64 // the clock
	Up     int64
	Heard  map[string]int // how many hear a channel: 's' or 'p' stands before its name
}

func (e Step) String() string {
	short := func(all []string) string {
		if len(all) > 30 {
			return fmt.Sprintf("%d from %q on", len(all), all[:3])
		}
		return fmt.Sprintf("%q", all)
	}
	return fmt.Sprintf("at %d, up %d, heard %v: %s %s %s", e.Micros, e.Up, e.Heard, e.Script, short(e.Keys), short(e.Args))
}

// A Course is what the server holds at first, and what happens then.
type Course struct {
	Start Space
	Steps []Step
	Seen  *met // counts what it meets
}

func (c Course) String() string {
	text := "it begins with\n" + c.Start.String()
	for _, e := range c.Steps {
		text += "\n" + e.String()
	}
	return text
}

// model runs a step on the model server.
func (e Step) model(space Space) (o Outcome, after Space) { return e.modelOf(space, nil) }

// modelOf runs a step whose call is changed before.
func (e Step) modelOf(space Space, change func(s *Server)) (o Outcome, after Space) {
	s := &Server{Space: space.Clone(), Micros: e.Micros, Up: e.Up}
	s.Heard = e.hearers
	c, err := decode.Decode(e.Script, e.Keys, e.Args)
	if err != nil {
		return Outcome{Err: err}, s.Space
	}
	if change != nil {
		change(s)
	}
	return s.do(c), s.Space
}

// play plays a course on both servers, and returns at which step they differ, and by what; empty if they do not. Each step
// begins with what the real server has. `next` makes a step of what there is; without it the course is played as it is.
func (c *Course) play(ctx context.Context, s *scriptServer, next func(space Space) (Step, bool)) (string, error) {
	if err := s.plant(ctx, c.Start); err != nil {
		return "", err
	}
	space := c.Start.Clone()
	for i := 0; ; i++ {
		if next != nil {
			e, ok := next(space)
			if !ok {
				return "", nil
			}
			c.Steps = append(c.Steps, e)
		}
		if i == len(c.Steps) {
			return "", nil
		}
		e := c.Steps[i]
		diff, after, err := e.compare(ctx, s, space, c.Seen)
		if clean := plain(e, space); err == nil && diff != "" && !reflect.DeepEqual(clean, space) {
			// Whether a guard that has ended is still seen does not matter, but without it they have to do the same.
			if err = s.plant(ctx, clean); err == nil {
				diff, after, err = e.compare(ctx, s, clean, nil)
			}
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", e, err)
		}
		if diff != "" {
			c.Steps = c.Steps[:i+1]
			return fmt.Sprintf("step %d: the model (-) and the script (+):\n%s", i+1, diff), nil
		}
		space = after
	}
}

// compare runs a step on both servers, and returns by what they differ, and what there is on the real one then.
func (e Step) compare(ctx context.Context, s *scriptServer, space Space, seen *met) (diff string, after Space, err error) {
	got, after, err := s.run(ctx, e)
	if err != nil {
		return "", nil, err
	}
	seen.note(e, got)
	want, wanted := e.model(space)
	diff = difference(e, space, want, wanted, got, after)
	if stumbles(e, space, want, got) {
		diff = ""
	}
	return diff, after, nil
}

// difference is by what the model and a script differ; empty if they do not.
func difference(e Step, space Space, want Outcome, wanted Space, got Outcome, after Space) string {
	if want.Err != nil || got.Err != nil {
		// How much of it is done when a script fails is not modelled.
		return cmp.Diff(wordOf(want.Err), wordOf(got.Err))
	}
	want.Commands = got.Commands
	putBack(e, wanted, after)
	if isAnother(e, space, want, got) || isOfLastMoment(want, got) {
		want.Reply = got.Reply
	}
	if e.Script == "release" { // it knows of one that nobody hears it, and does not tell it anything
		want.Messages, got.Messages = e.heardOf(want.Messages), e.heardOf(got.Messages)
	}
	wanted, after = plain(e, wanted), plain(e, after)
	if reflect.DeepEqual(want, got) && reflect.DeepEqual(wanted, after) {
		return ""
	}
	return cmp.Diff(want.Reply, got.Reply) + cmp.Diff(want.Messages, got.Messages) + cmp.Diff(wanted, after)
}

// heardOf leaves out messages that nobody hears.
func (e Step) heardOf(all []Message) (heard []Message) {
	for _, m := range all {
		if e.hearers(m.Sharded, m.Channel) > 0 {
			heard = append(heard, m)
		}
	}
	return heard
}

// hearers is how many hear a channel.
func (e Step) hearers(sharded bool, channel string) int {
	if sharded {
		return e.Heard["s"+channel]
	}
	return e.Heard["p"+channel]
}

// wordOf is the first word of an error, and all of one of ours.
func wordOf(err error) string {
	if err == nil {
		return ""
	}
	word, _, _ := strings.Cut(err.Error(), " ")
	if word == "FOREIGNFENCE" || word != strings.ToUpper(word) {
		return err.Error()
	}
	return word
}

// plain is what a key space comes to: without guards that have ended, which scripts drop when they come across them.
func plain(e Step, space Space) Space {
	space, now := space.Clone(), e.Micros/1000
	for _, thing := range space {
		if thing.Kind == Sorted {
			thing.Members = slices.DeleteFunc(thing.Members, func(m Member) bool { return m.hasEnded(now) })
		}
	}
	maps.DeleteFunc(space, func(_ string, thing *Thing) bool { return thing.Kind == Sorted && len(thing.Members) == 0 })
	return space
}

// putBack lets a line live longer than the model says behind a release: it takes the first entry out of a line to see it, and if
// it puts back the only one the line lives as long as one with a guard. And it lets it live a second less behind an Obtain that
// enters it, or longer: a short cut renews a lease of which more than a second is missing, and the rest of the script one that nobody
// seems to have renewed in this second, however long it is.
func putBack(e Step, wanted, after Space) {
	for key, thing := range after {
		its := wanted[key]
		if its == nil || thing.Kind != Sorted {
			continue
		}
		if e.Script == "release" && thing.End == e.Micros/1000+(guardLife+1)*1000 ||
			e.Script == "rw" && slices.Contains([]int64{its.End, thing.End}, e.Micros/1000+2*waiterLife) && thing.End >= its.End-1000 {
			its.End = thing.End
		}
	}
}

// stumbles reports whether a step fails on one server because of a line, or of something else beside a key, that is none, and on the other
// not, or because of another thing: a short cut may look at it where the rest of the script would not have to, or the other way round.
func stumbles(e Step, space Space, want, got Outcome) bool {
	if (wordOf(want.Err) == "WRONGTYPE") == (wordOf(got.Err) == "WRONGTYPE") {
		return false
	}
	return slices.ContainsFunc(e.Keys, func(key string) bool {
		kind, wanted := space.kind(key), Sorted
		switch {
		case strings.Contains(key, "redislock:fence"):
			wanted = Hash
		case strings.Contains(key, "redislock:intent"):
			wanted = String
		case !strings.Contains(key, "redislock:"):
			return false
		}
		return kind != None && kind != wanted
	})
}

// isOfLastMoment reports whether refusals name the same key, which is gone with this ms, and its readers with it: a short cut tells of
// the last of them.
func isOfLastMoment(want, got Outcome) bool {
	first, ok := want.Reply.([]any)
	named, both := got.Reply.([]any)
	return ok && both && len(first) == 5 && len(named) == 5 && first[2] == string(Read) && first[3] == int64(0) && slices.Equal(first[:2], named[:2])
}

// isAnother reports whether a refusal names another key that is in the way than the model does, of a set to read of which one key is
// wanted by a writer: a short cut looks at intents behind everything else.
func isAnother(e Step, space Space, want, got Outcome) bool {
	first, ok := want.Reply.([]any)
	named, both := got.Reply.([]any)
	if !ok || !both || e.Script != "rw" || len(first) != 5 || len(named) != 5 || first[2] != string(Intent) {
		return false
	}
	all, _ := e.modelOf(space, func(s *Server) { s.NamesAll = true })
	list, ok := all.Reply.([]any)
	for k := 1; ok && k+4 <= len(list); k += 4 {
		if slices.Equal(list[k:k+4], named[1:]) {
			return true
		}
	}
	return false
}
