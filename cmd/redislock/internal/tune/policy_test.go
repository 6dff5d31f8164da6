package tune

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
)

const ms = time.Millisecond

// waits are those of a policy that polls, -1 at their end.
func waits(p policy, n int) (all []time.Duration) {
	if p.Options.RetryStrategy == nil {
		return nil
	}
	for b := p.Options.RetryStrategy(); len(all) < n; {
		all = append(all, b.NextBackOff())
	}
	return all
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, name    string
		queue, intent bool
		waits         []time.Duration
	}{
		{"queue", "", true, false, nil},
		{"the-line=queue", "the-line", true, false, nil},
		{"linear:25ms", "", false, false, []time.Duration{25 * ms, 25 * ms, 25 * ms}},
		{"Mine2=linear:1.5s", "Mine2", false, false, []time.Duration{1500 * ms}},
		{"exponential:1ms..1ms", "", false, false, []time.Duration{ms, ms}},
		{"limited:linear:10ms:2", "", false, false, []time.Duration{10 * ms, 10 * ms, -1}},
		{"a=limited:exponential:1ms..1ms:1+intent", "a", false, true, []time.Duration{ms, -1}},
		{"linear:10ms+intent", "", false, true, []time.Duration{10 * ms}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			p := check.Must[policy](t)(parsePolicy(tt.text))
			if p.Name != tt.name || p.Options.Queue != tt.queue || p.Options.Intent != tt.intent {
				t.Errorf("got %+v", p)
			}
			got := waits(p, len(tt.waits))
			if tt.text == "exponential:1ms..1ms" || strings.Contains(tt.text, "limited:exp") {
				for i, d := range got { // at random, from half on
					if d > 0 && d <= ms {
						got[i] = ms
					}
				}
			}
			if diff := cmp.Diff(got, tt.waits); diff != "" {
				t.Error(diff)
			}
		})
	}
	grows := check.Must[policy](t)(parsePolicy("exponential:10ms..40ms"))
	if w := waits(grows, 20); w[0] < 5*ms || w[0] > 15*ms || w[19] < 20*ms || w[19] > 40*ms {
		t.Errorf("exponential waits %v", w)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var all []policy
	for _, text := range []string{"linear:1ms", "linear:2ms", "linear-2=queue", "exponential:1ms..2ms", "exponential:1ms..3ms", "queue"} {
		all = append(all, check.Must[policy](t)(parsePolicy(text)))
	}
	all = check.Must[[]policy](t)(named(all))
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff(names, []string{"linear", "linear-3", "linear-2", "exponential", "exponenti-2", "queue"}); diff != "" {
		t.Error(diff)
	}
	if _, err := named([]policy{{Name: "Mine"}, {Name: "mine"}}); err == nil {
		t.Error("two policies have the same name in a picture")
	}
}

func TestStandardPolicies(t *testing.T) {
	t.Parallel()
	for hold, want := range map[time.Duration]string{
		20 * ms: "linear:10ms exponential:5ms..200ms limited:exponential:5ms..200ms:20 queue",
		1:       "linear:1ms exponential:1ms..1ms limited:exponential:1ms..1ms:20 queue",
	} {
		var got []string
		for _, p := range standard(hold) {
			got = append(got, p.Spec)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v: got %s, want %s", hold, text, want)
		}
	}
	standard(mostHold) // it does not panic
}

// Whatever is written, it is a policy with waits of a millisecond and more, or an error in one line that can be shown.
func FuzzPolicy(f *testing.F) {
	for _, text := range []string{"queue", "a=linear:25ms", "exponential:5ms..500ms", "limited:linear:10ms:50+intent", "limited::", "x=\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePolicy(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q: the error is %q", text, err)
			}
			return
		}
		if again, err := parsePolicy(p.Spec); err != nil || again.Spec != p.Spec {
			t.Errorf("%q: its spec %q is %v, %v", text, p.Spec, again, err)
		}
		for _, d := range waits(p, 5) {
			if d > mostInterval || d >= 0 && d < ms/2 {
				t.Errorf("%q waits for %v", text, d)
			}
		}
	})
}
