package page

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/proof/server"
)

const (
	formatPath = "docs/format.md"

	guardedFor = 301 * time.Second // a line with a new guard
	numbersFor = 25 * time.Hour    // numbers of locks whose ttl is not longer than half of that
)

// Each value of the page is what the library stores for its parts, and is read as them.
func TestFormatValues(t *testing.T) {
	t.Parallel()
	_, block, _ := strings.Cut(read(t, formatPath), "\n    value ")
	block, _, _ = strings.Cut(block, "\n\n")
	rows := strings.Split(block, "\n")[1:]
	kinds := map[string]int{}
	for _, row := range rows {
		f := strings.Fields(strings.ReplaceAll(row, "pending candidate", "pending"))
		if len(f) < 4 {
			t.Errorf("not a row: %q", row)
			continue
		}
		for i, text := range f[:4] {
			if text == "-" {
				f[i] = ""
			}
		}
		kind := strings.Join(f[4:], " ")
		kinds[kind]++
		value, token, id, metadata := f[0], f[1], f[2], f[3]
		var stored string
		switch kind {
		case "candidate":
			stored = proto.EncodeCandidate(token, id, metadata)
		case "pending":
			stored = proto.EncodeCandidate(token, id, metadata) + inctx.Pending
		case "left":
			stored = string(server.Value(proto.EncodeValue("x", id, metadata)).Left())
			if !server.Value(value).IsLeft() {
				t.Errorf("%s is not left", value)
			}
		default:
			stored = proto.EncodeValue(token, id, metadata)
		}
		if value != stored {
			t.Errorf("the page has the value %q, the library %q", value, stored)
		}
		gotToken, gotID, gotMetadata := proto.DecodeValue(value)
		if kind == "pending" {
			id += inctx.Pending
		}
		if diff := cmp.Diff([]string{gotToken, gotID, gotMetadata}, []string{token, id, metadata}); diff != "" {
			t.Errorf("%s (-library +page):\n%s", value, diff)
		}
	}
	if want := map[string]int{"": 4, "candidate": 1, "pending": 1, "left": 3}; !maps.Equal(kinds, want) {
		t.Errorf("got kinds of values %v, want %v", kinds, want)
	}
}

// The names on the page are those beside the keys, and in their slots.
func TestFormatNames(t *testing.T) {
	t.Parallel()
	rows := formatRows(t, "Names beside a key")
	if len(rows) != 3 {
		t.Errorf("the page has %d forms of names, want 3", len(rows))
	}
	for _, row := range rows {
		key, line := row[0], row[1]
		if want := slot.Beside("line", key); line != want || slot.Of(key) != slot.Of(line) {
			t.Errorf("the line of %s is %s, the page says %s", key, want, line)
		}
	}
}

// The numbers of the page are those of the code.
func TestFormatNumbers(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(read(t, formatPath)), " ")
	for _, want := range []string{
		fmt.Sprintf("It has 1 to %d bytes and no `%s`", proto.MaxToken, proto.Separator),
		fmt.Sprintf("at most %d bytes before the first `%s`", proto.MaxToken, proto.Separator),
		fmt.Sprintf("It has 1 to %d printable ASCII characters", proto.MostCaller),
		fmt.Sprintf("22 characters. Messages call it by the first %d.", listen.NameLength),
		fmt.Sprintf("The name is the first %d characters of the id", listen.NameLength),
		fmt.Sprintf("millisecond, %d s after the waiter has asked last", proto.WaiterLife/time.Second),
		fmt.Sprintf("at most %d s, renewed while somebody waits", 2*proto.WaiterLife/time.Second),
		fmt.Sprintf("with a guard %d s from", guardedFor/time.Second),
		fmt.Sprintf("%d h, or twice the ttl", numbersFor/time.Hour),
		"told on `" + listen.NoticeChannel + "`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks: %s", formatPath, want)
		}
	}
}

// The examples of the page are what stands in Redis: the same commands have the same answers, apart from tokens, ids and
// moments.
func TestFormatExamples(t *testing.T) {
	t.Parallel()
	examples := examplesOf(t)
	if len(examples) < 9 {
		t.Errorf("the page has %d examples", len(examples))
	}
	for name, start := range formatServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{b: start(t)}
			s.rdb = s.b.Client(t)
			s.fill(t)
			for _, e := range examples {
				got := answer(t, s.rdb, e.command)
				if diff := cmp.Diff(masked(e.command, got), masked(e.command, e.answer)); diff != "" {
					t.Errorf("%s (-server +page):\n%s", strings.Join(e.command, " "), diff)
				}
			}
			for key, want := range map[string]time.Duration{
				"redislock:line:{lock:stock:9}":   2 * proto.WaiterLife,
				"redislock:line:{lock:bill:3}":    guardedFor,
				"redislock:fence:{lock:stock:9}":  numbersFor,
				"redislock:intent:{lock:price:9}": time.Minute + time.Second,
				"lock:stock:9":                    time.Hour,
			} {
				got := check.Must[time.Duration](t)(s.rdb.PTTL(t.Context(), key).Result())
				if got > want || got < want-world.Polled {
					t.Errorf("%s has a TTL of %v, want %v", key, got, want)
				}
			}
		})
	}
}

// formatServers start a server for one test.
var formatServers = map[string]func(t *testing.T) redistest.Backend{
	"miniredis": func(t *testing.T) redistest.Backend { t.Helper(); return redistest.StartMini(t) },
	"redis":     func(t *testing.T) redistest.Backend { t.Helper(); return redistest.Start(t, redistest.Redis) },
}

// Two waiters and a guard on the page have the parts that the page explains.
func TestFormatEntries(t *testing.T) {
	t.Parallel()
	waiters, guards := 0, 0
	for _, e := range examplesOf(t) {
		if !strings.HasPrefix(e.command[1], "redislock:line") {
			continue
		}
		for i := 0; i+1 < len(e.answer); i += 2 {
			m := server.Member{Text: e.answer[i], Score: check.Must[float64](t)(strconv.ParseFloat(e.answer[i+1], 64))}
			entry := server.EntryOf(m)
			switch {
			case m.IsGuard():
				guards++
				if g := server.GuardOf(m.Score); g.Number < 0 || g.Score() != m.Score || entry.ID != "" {
					t.Errorf("%v is no guard: %v", m, g)
				}
			case entry.String() != m.Text || entry.Keys != len(entry.Names) && entry.Home:
				t.Errorf("%q is no entry: %+v", m.Text, entry)
			default:
				waiters++
				if life := entry.Till - int64(m.Score)/1000; life != proto.WaiterLife.Milliseconds() {
					t.Errorf("the waiter has come %d ms before the end of its life", life)
				}
			}
		}
	}
	if waiters != 2 || guards != 1 {
		t.Errorf("the page has %d entries and %d guards, want 2 and 1", waiters, guards)
	}
}

// Each message of the page is published as the page has it, and nothing else is.
func TestFormatMessages(t *testing.T) {
	t.Parallel()
	var shown []string
	for _, row := range formatRows(t, "Messages") {
		if strings.HasPrefix(row[2], "b|") {
			if n, ok := listen.ParseNotice(row[2]); !ok || n.Text() != row[2] {
				t.Errorf("%s is no notice", row[2])
			}
		}
		shown = append(shown, maskedMessage(row[2]))
	}
	slices.Sort(shown)
	for name, start := range formatServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{b: start(t)}
			s.rdb = s.b.Client(t)
			heard := s.hear(t)
			s.tellAll(t)
			check.Eventually(t, world.Polled, "all messages", func() bool { return len(heard()) >= len(shown) })
			if diff := cmp.Diff(heard(), shown); diff != "" {
				t.Errorf("messages (-server +page):\n%s", diff)
			}
		})
	}
}

// formatRows are the rows of the tables of a section, without the marks of code.
func formatRows(t *testing.T, section string) (rows [][]string) {
	t.Helper()
	_, text, found := strings.Cut(read(t, formatPath), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00")
		var row []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			row = append(row, strings.Trim(strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"), "`"))
		}
		rows = append(rows, row)
	}
	if !found || len(rows) < 3 {
		t.Fatalf("%s has no table in %q", formatPath, section)
	}
	return rows[2:]
}

// An example is a command of redis-cli, and the texts that it has answered.
type example struct{ command, answer []string }

func examplesOf(t *testing.T) (all []example) {
	t.Helper()
	for line := range strings.Lines(read(t, formatPath)) {
		line, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    ")
		if command, begins := strings.CutPrefix(line, "> "); is && begins {
			all = append(all, example{command: strings.Fields(command)})
			continue
		}
		line = regexp.MustCompile(`^\d+\) `).ReplaceAllString(line, "")
		if is && strings.HasPrefix(line, `"`) {
			e := &all[len(all)-1]
			e.answer = append(e.answer, check.Must[string](t)(strconv.Unquote(line)))
		}
	}
	return all
}

func answer(t *testing.T, rdb *redis.Client, command []string) (texts []string) {
	t.Helper()
	args := make([]any, len(command))
	for i, word := range command {
		args[i] = word
	}
	return flat(check.Must[any](t)(rdb.Do(t.Context(), args...).Result()))
}

// flat is a reply as redis-cli shows it, which is that of an older protocol than that of go-redis.
func flat(reply any) (texts []string) {
	switch reply := reply.(type) {
	case map[any]any:
		for field, value := range reply {
			texts = append(append(texts, flat(field)...), flat(value)...)
		}
	case []any: // also a member with its score
		for _, part := range reply {
			texts = append(texts, flat(part)...)
		}
	case float64:
		texts = []string{strconv.FormatFloat(reply, 'f', -1, 64)}
	default:
		texts = []string{fmt.Sprint(reply)}
	}
	return texts
}

var (
	madeToken  = regexp.MustCompile(`(^|\|)[\w-]{30}(\||$)`)
	madeID     = regexp.MustCompile(`^[\w-]{22}$|(\|)[\w-]{8}(\||$)|(\|)[\w-]{22}(\|)`)
	moment     = regexp.MustCompile(`\b\d{13}\b`)
	fineMoment = regexp.MustCompile(`\b\d{16}\b`)
)

// masked is an answer without what is another each time. Fields of a hash have no order.
func masked(command, answer []string) (texts []string) {
	for _, text := range answer {
		if e := server.EntryOf(server.Member{Text: text}); e.ID != "" {
			e.ID, e.Till, e.Channel = "ID", 0, regexp.MustCompile(`[\w-]{22}$`).ReplaceAllString(e.Channel, "CLIENT")
			e.Value = server.Value(madeToken.ReplaceAllString(string(e.Value), "${1}TOKEN$2"))
			text = e.String()
		}
		text = madeToken.ReplaceAllString(text, "${1}TOKEN$2")
		texts = append(texts, fineMoment.ReplaceAllString(moment.ReplaceAllString(text, "MS"), "US"))
	}
	if command[0] == "HGETALL" {
		var fields []string
		for pair := range slices.Chunk(texts, 2) {
			fields = append(fields, strings.Join(pair, " = "))
		}
		slices.Sort(fields)
		return fields
	}
	return texts
}

// maskedMessage is a message without what is another each time.
func maskedMessage(text string) string {
	text = madeID.ReplaceAllString(text, "${1}${3}ID$2$4")
	return fineMoment.ReplaceAllString(text, "US")
}
