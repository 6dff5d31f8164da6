package tree

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// settling is the pause before what may be a deadlock is read once more. A certain one needs none. It is for possible ones, most
// of which are over by then: they are two processes that are busy with the same keys.
const settling = 300 * time.Millisecond

// An inspect reads keys, as redislock.Client.Inspect.
type inspect func(ctx context.Context, keys []string) ([]redislock.KeyState, error)

// settled reads the keys of whatever may be a deadlock twice more, and returns a model of what was there all three times.
// Keys that were not read hold nothing in it.
func settled(ctx context.Context, m *model, look inspect, k *marker, pause time.Duration) (*model, error) {
	suspects, states := m.suspects(), make([]redislock.KeyState, len(m.states))
	if len(suspects) == 0 {
		return m.again(states), nil
	}
	keys := make([]string, len(suspects))
	for i, state := range suspects {
		keys[i], states[state] = m.states[state].Key, m.states[state]
	}
	several := map[string]bool{}
	for range 2 {
		if !pace.Sleep(ctx, pause) {
			return nil, context.Cause(ctx)
		}
		again, err := look(ctx, keys)
		if err != nil {
			return nil, err
		}
		again = k.identify(ctx, again)
		// The first look is no witness of that: it took long, and a caller may have gone on from one wait to the next.
		for _, p := range newModel(again).parties {
			if p.caller != "" && (len(p.requests) > 1 || len(p.processes) > 1) {
				several[p.caller] = true
			}
		}
		for i, state := range suspects {
			states[state] = common(states[state], again[i])
		}
		pause /= 2
	}
	still := m.again(states)
	still.several = several
	return still, nil
}

// suspects are the states that may have to do with a deadlock, in order: all keys of the parties that are in circles, as far as
// somebody waits for them.
func (m *model) suspects() (states []int) {
	g := newWaits(m, false)
	_, circles := g.components()
	isIn := map[int]bool{}
	for _, node := range slices.Concat(circles...) {
		isIn[g.who[node]] = true
	}
	delete(isIn, nobody)
	for state := range m.states {
		holds := slices.ContainsFunc(m.holders[state], func(p int) bool { return isIn[p] })
		waits := slices.ContainsFunc(m.lines[state], func(s stand) bool { return isIn[m.requests[s.request].party] })
		if (holds || waits) && isWaited(m.states[state]) {
			states = append(states, state)
		}
	}
	return states
}

// common is what two looks at a key have seen, with the leases of the second one.
func common(first, second redislock.KeyState) redislock.KeyState {
	second.Holders = both(first.Holders, second.Holders, holderName)
	second.Line = both(first.Line, second.Line, waiterName)
	if first.Intent == nil || second.Intent != nil && holderName(*first.Intent) != holderName(*second.Intent) {
		second.Intent = nil
	}
	return second
}

// both are those of the second list that are in the first one, too, each as often as in both.
func both[T any](first, second []T, name func(T) string) []T {
	count := map[string]int{}
	for _, one := range first {
		count[name(one)]++
	}
	return slices.DeleteFunc(slices.Clone(second), func(one T) bool {
		count[name(one)]--
		return count[name(one)] < 0
	})
}

func holderName(h redislock.Holder) string {
	return fmt.Sprintf("%q %q %s %t %d", h.Metadata, h.Caller, h.Mode, h.Left, h.Since.UnixNano())
}

func waiterName(w redislock.Waiter) string {
	return fmt.Sprintf("%q %q %s %t %d", w.Metadata, w.Caller, w.Mode, w.Alive, w.Since.UnixMicro())
}
