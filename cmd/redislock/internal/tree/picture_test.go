package tree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// drawn is what a terminal of some width would show.
func drawn(t *testing.T, v *view, most int, mod ...func(*printer)) string {
	t.Helper()
	var b bytes.Buffer
	p := &printer{
		view: v, names: namesOf(v.settled, false), screen: cli.NewScreen(&b),
		most: most, width: 80, propose: new(cli.Redis).Propose,
	}
	for _, m := range mod {
		m(p)
	}
	if err := p.print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// In what is wanted # is nothing: it keeps the linter from finding a word twice.
func TestPicture(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, states, want string }{
		{"nothing", "", "0 keys held, 0 keys waited for, by 0 requests.\n"},
		{"nobody waits", "a w A; b r A", "2 keys held, 0 keys waited for, by 0 requests.\n"},
		{"a chain", "a w p < q:w1; b w q < s:r2", `
p
└─ a, held to write, 1m00s left
   └─ 1. q, to write, 1m00s
      └─ b, held to write, 1m00s left
         └─ 1. s, to read, 1m00s

2 keys held, 2 keys waited for, by 2 requests.
`},
		{"one key of a set after the other", "a w p < q:w1 s:w2; b w p < q:w1", `
p
├─ a, held to write, 1m00s left
│  ├─ 1. q, to write, 1m00s
│  └─ 2. s, to write, 1m00s
└─ b, held to write, 1m00s left
   └─ 1. q, to write, 1m00s

2 keys held, 2 keys waited for, by 2 requests.
`},
		{"a foreign key", "a x < q:w1 s:w2", `
q
└─ a, foreign: a hash without a TTL, first in line
   └─ 2. s, to write, 1m00s

0 keys held, 1 key waited for, by 2 requests.
`},
		{"readers", "a r p q < x:w1 y:r2", `
p [1]
└─ a, held to read, 1m00s left, with another
   ├─ 1. x, to write, 1m00s
   └─ 2. y, to read, 1m00s

q
└─ a, held to read, 1m00s left, with another, see [1]

1 key held, 1 key waited for, by 2 requests.
`},
		{"many of one party", "a w p < q:w1 q:w2 q:w3 q:r4 !q:r5 q:r6", `
p
└─ a, held to write, 1m00s left
   ├─ 1-3. q, to write, 3 times, up to 1m00s
   └─ 4-5. q, to read, 2 times, up to 1m00s

1 key held, 1 key waited for, by 5 requests.
1 waiter gone, and passed over.
`},
		{"more than there is room for", "a w p < q:w1 s:w2 x:w3 q:w4 s:w5 y:w6 q:w7; b w y < z:r8", `
p
└─ a, held to write, 1m00s left
   ├─ 1. q, to write, 1m00s
   ├─ 2. s, to write, 1m00s
   ├─ … 3 more
   ├─ 6. y, to write, 1m00s
   │  └─ b, held to write, 1m00s left
   │     └─ 1. z, to read, 1m00s
   └─ … 1 more

2 keys held, 2 keys waited for, by 8 requests.
`},
		{"behind the first of a free key", "a - < q:w1 s:w2; b w p < q:w1", `
p
└─ b, held to write, 1m00s left
   └─ 1. q, to write, 1m00s
      └─ a, first in line
         └─ 2. s, to write, 1m00s

1 key held, 2 keys waited for, by 2 requests.
`},
		{"a key that was left", "a w ~p < q:w1", `
a, left by its holder, free in 1m00s
└─ 1. q, to write, 1m00s

1 key held, 1 key waited for, by 1 request.
`},
		{"an intent", "a r p < intent:q s:w1", `
p
└─ a, held to read, 1m00s left
   ├─ intent: q, to write
   └─ 1. s, to write, 1m00s

1 key held, 1 key waited for, by 2 requests.
`},
		{"nobody known", "a w _ < _:w1 _:w2", `
somebody
└─ a, held to write, 1m00s left
   ├─ 1. somebody, to write, 1m00s
   └─ 2. somebody, to write, 1m00s

1 key held, 1 key waited for, by 2 requests.
3 locks and waiters have neither metadata nor a caller's id: which belong together is not known.
`},
		{"a certain deadlock", "a w A@1 < B@2:w1 C:w3; b w B@2 < A@1:w2", `
A (web-1 pid 1 shop) [1] ! deadlock 1
└─ a, held to write, 1m00s left
   ├─ 1. B (web-2 pid 1 shop), to write, 1m00s ! deadlock 1
   │  └─ b, held to write, 1m00s left
   │     └─ 1. A, to write, 1m00s, see [1] ! deadlock 1
   └─ 2. C, to write, 1m00s

2 keys held, 2 keys waited for, by 3 requests.

certain deadlock 1: B → a → A → b → B
   #B (web-2 pid 1 shop)
      wants to write a, held by A, for 1m00s
   A (web-1 pid 1 shop)
      wants to write b, held by B, for 1m00s
   1 request more waits behind these.
   The first lease in it ends in 1m00s, if it is not renewed.
   To end it: redislock break a
`},
		{"possible deadlocks", "a w p < q:w1; b w q < p:w2; c w s < s:w3", `
p [1] ? deadlock 1
└─ a, held to write, 1m00s left
   └─ 1. q, to write, 1m00s ? deadlock 1
      └─ b, held to write, 1m00s left
         └─ 1. p, to write, 1m00s, see [1] ? deadlock 1

s [2]
└─ c, held to write, 1m00s left
   └─ 1. s, to write, 1m00s, see [2]

3 keys held, 3 keys waited for, by 3 requests.

possible deadlock 1: q → a → p → b → q
   #q
      wants to write a, held by p, for 1m00s
   p
      wants to write b, held by q, for 1m00s
   Not certain: another goroutine of a process may hold the key.
   The first lease in it ends in 1m00s, if it is not renewed.

1 party waits for a key that it holds itself, most likely another goroutine:
   s (c)
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			most := 10
			if strings.Contains(tt.name, "room") {
				most = 2
			}
			if diff := cmp.Diff(drawn(t, viewOf(t, statesOf(tt.states)), most), strings.TrimPrefix(strings.ReplaceAll(tt.want, "#", ""), "\n")); diff != "" {
				t.Errorf("the picture (-got +want):\n%s", diff)
			}
		})
	}
}

func TestPlainPicture(t *testing.T) {
	t.Parallel()
	v := viewOf(t, statesOf("ключ w A < B:w1", "b w B < A:w2"))
	got := drawn(t, v, 10, func(p *printer) { p.names.glyphs = plain })
	if i := strings.IndexFunc(got, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		t.Errorf("not ASCII at %d:\n%s", i, got)
	}
	if !strings.Contains(got, `B -> "\u043a\u043b\u044e\u0447" -> A -> b -> B`) || !strings.Contains(got, "`- 1. B") {
		t.Errorf("got:\n%s", got)
	}
}

// Colours are for terminals alone.
func TestPictureColours(t *testing.T) {
	t.Parallel()
	v := viewOf(t, statesOf("a w A < B:w1", "b w B < A:w2"))
	if got := drawn(t, v, 10); strings.Contains(got, "\x1b") {
		t.Errorf("colours:\n%q", got)
	}
	got := drawn(t, v, 10, func(p *printer) { p.screen.Colour = true })
	if !strings.Contains(got, "\x1b[31m ! deadlock 1\x1b[0m") || !strings.Contains(got, "\x1b[31mcertain deadlock 1:") {
		t.Errorf("no red:\n%q", got)
	}
}

// Whatever keys and metadata are, a line has 80 columns at most, and nothing of them reaches the terminal as it is; with -l nothing
// is left out.
func TestPictureFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("order/", 40) + "\x1b[31m\n"
	states := statesOf("a w A < B:w1 C:w3 d:w4", "b w B < A:w2", "c r C q < E:w5", "d w E < F:w6", "e w F < G:w7", "f w G < H:w8",
		"g w H < I:w9", "h w I < J:w10", "i w J < K:w11")
	for i := range states {
		states[i].Key = states[i].Key + long
		for h := range states[i].Holders {
			states[i].Holders[h].Metadata = "host=" + strings.Repeat("web", 30) + " pid=1 prog=shop since=x"
			states[i].Holders[h].Since = start
		}
	}
	v := viewOf(t, states)
	got := drawn(t, v, 10)
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if strings.Contains(got, "\x1b") || !strings.Contains(got, "see [") {
		t.Errorf("got %q", got)
	}
	got = drawn(t, v, 10, func(p *printer) {
		p.names, p.width = namesOf(v.settled, true), 0
	})
	if strings.Contains(got, "…") || strings.Count(got, strings.Repeat("order/", 40)) < len(states) {
		t.Errorf("something is left out: %q", got)
	}
}

// Every waiter is drawn once in each of its lines, or counted.
func TestPictureIsComplete(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		m := newModel(randomStates(rand.New(rand.NewPCG(seed, 5))))
		for _, most := range []int{0, 1, 2} {
			p := &printer{view: &view{model: m}, names: namesOf(m, false), most: most}
			rows := p.grow()
			numbers, counted := labels(rows), 0
			for i, r := range rows {
				counted += r.waiters
				if r.refers != nobody && numbers[r.refers] == 0 {
					t.Fatalf("seed %d: row %d refers to what is not drawn", seed, i)
				}
			}
			if want := waiters(m); counted != want {
				t.Fatalf("seed %d: %d waiters are drawn or counted with --waiters %d, want %d: %v", seed, counted, most, want, m.states)
			}
		}
	}
}

// waiters is how many waiters of all lines have somebody in their way because of this line.
func waiters(m *model) (n int) {
	for state, line := range m.lines {
		isBlocked := slices.ContainsFunc(line, func(s stand) bool { return m.isHeldAgainst(state, s.mode) })
		if isBlocked || len(line) > 1 {
			n += len(line)
		}
	}
	return n
}

func TestManyWaiters(t *testing.T) {
	t.Parallel()
	var line strings.Builder
	line.WriteString("a w A <")
	for i := range 10_000 {
		fmt.Fprintf(&line, " x%d:w%d", i%7, i+1)
	}
	got := drawn(t, viewOf(t, statesOf(line.String())), 10)
	if lines := strings.Count(got, "\n"); lines > 20 || !strings.Contains(got, "… 9 990 more\n") {
		t.Errorf("%d lines:\n%.2000s", lines, got)
	}
	if all := drawn(t, viewOf(t, statesOf(line.String())), 0); strings.Count(all, "\n") < 10_000 {
		t.Error("--waiters 0 does not draw all")
	}
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("k%d w p%d < q%d:w1 s%d:w2", i, i, i, i))
	}
	if got := drawn(t, viewOf(t, statesOf(many...)), 10); !strings.Contains(got, "… 20 more wait for others: --waiters 0 draws all\n") {
		t.Errorf("not all trees are drawn, and it does not say so:\n%s", got)
	}
}
