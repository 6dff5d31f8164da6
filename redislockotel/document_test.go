package redislockotel_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockotel"
)

func document(t *testing.T) string {
	t.Helper()
	return string(check.Must[[]byte](t)(os.ReadFile("README.md")))
}

// everything is told of all that can happen to locks.
func everything(t *testing.T) *meter {
	t.Helper()
	m := newMeter(t, redislockotel.WithKeys())
	e := redislock.Event{Name: "n", Mode: redislock.ModeWrite, Way: "poll", Keys: []string{"a"}, Attempts: 1, Fence: 7}
	tell := func(hook func(context.Context, redislock.Event), e redislock.Event, err error) {
		e.Err = err
		hook(t.Context(), e)
	}
	for _, failed := range []error{nil, wrap(redislock.ErrUnknownOutcome)} {
		e.ID++
		tell(m.hooks.Waiting, e, nil)
		tell(m.hooks.Waited, e, failed)
		if failed != nil {
			tell(m.hooks.Refused, e, failed)
		}
		tell(m.hooks.Obtained, e, nil)
		ended := e
		ended.Ended, ended.Kept = true, time.Second
		tell(m.hooks.Released, ended, failed)
	}
	e.ID++
	tell(m.hooks.Obtained, e, nil)
	tell(m.hooks.Lost, e, errors.New("lost"))
	return m
}

// The table of metrics is what is exported: names, instruments, units and attributes.
func TestDocumentMetrics(t *testing.T) {
	t.Parallel()
	short := map[attribute.Key]string{
		"redislock.lock.name": "name", "redislock.lock.mode": "mode", "redislock.lock.way": "way",
		"redislock.operation.name": "operation", "error.type": "error.type",
	}
	order := []string{"operation", "name", "mode", "way", "error.type"}
	var got []string
	for _, metric := range everything(t).metrics(t) {
		var sets []attribute.Set
		kind := "Histogram"
		switch data := metric.Data.(type) {
		case metricdata.Sum[int64]:
			kind = "UpDownCounter"
			if data.IsMonotonic {
				kind = "Counter"
			}
			for _, p := range data.DataPoints {
				sets = append(sets, p.Attributes)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				sets = append(sets, p.Attributes)
			}
		}
		var names []string
		for _, set := range sets {
			for _, a := range set.ToSlice() {
				if name := short[a.Key]; !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		slices.SortFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
		got = append(got, "| `"+metric.Name+"` | "+kind+" | `"+metric.Unit+"` | "+strings.Join(names, ", ")+" |")
	}
	want := regexp.MustCompile("(?m)^\\| `redislock\\.[a-z.]+` \\| (?:UpDownCounter|Counter|Histogram) \\| [^|]+ \\| [^|]+ \\|").
		FindAllString(document(t), -1)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-README.md +exported):\n%s", diff)
	}
	text := document(t)
	for key := range short {
		if !strings.Contains(text, "\n| `"+string(key)+"` |") {
			t.Errorf("the table of attributes has no %s", key)
		}
	}
}

// The table of spans has every attribute that a span has, and no other.
func TestDocumentSpans(t *testing.T) {
	t.Parallel()
	m := everything(t)
	text := document(t)
	_, section, _ := strings.Cut(text, "\n## Spans\n")
	section, _, _ = strings.Cut(section, "\n## ")
	want := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z., `]+`) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			want[name[1]] = true
		}
	}
	got := map[string]bool{}
	for _, span := range m.spans.Ended() {
		if verb, _, _ := strings.Cut(span.Name(), " "); !strings.Contains(section, "\n| `"+verb+" NAME` |") {
			t.Errorf("the table of spans has no %q", span.Name())
		}
		for _, a := range span.Attributes() {
			got[string(a.Key)] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes of spans (-README.md +recorded):\n%s", diff)
	}
}

// The table of errors has every value of error.type.
func TestDocumentErrors(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(document(t), "\n### error.type\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(section, -1) {
		for _, value := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			want = append(want, value[1])
		}
	}
	got := []string{"ERR"}
	for code := range redislockotel.ServerCodes {
		got = append(got, code)
	}
	file := check.Must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), "failure.go", nil, parser.SkipObjectResolution))
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(c.Names[0].Name, "type") {
			value := c.Values[0].(*ast.BasicLit).Value
			got = append(got, check.Must[string](t)(strconv.Unquote(value)))
		}
		return true
	})
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of error.type (-README.md +in the code):\n%s", diff)
	}
}

// The queries use the names that the Prometheus exporter makes of these metrics, and their attributes.
func TestDocumentQueries(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"redislock_lock_name": true, "redislock_lock_mode": true, "redislock_lock_way": true, "redislock_operation_name": true}
	used := map[string]bool{}
	for _, metric := range everything(t).metrics(t) {
		name := strings.ReplaceAll(metric.Name, ".", "_")
		switch data := metric.Data.(type) {
		case metricdata.Sum[int64]:
			if data.IsMonotonic {
				name += "_total"
			}
			known[name], used[name] = true, false
		case metricdata.Histogram[float64]:
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				known[name+"_seconds"+part] = true
			}
			used[name+"_seconds_bucket"] = false
		}
	}
	for _, name := range regexp.MustCompile(`\bredislock_\w+`).FindAllString(document(t), -1) {
		if !known[name] {
			t.Errorf("a query uses %s, which nobody exports", name)
		}
		used[name] = true
	}
	delete(used, "redislock_lock_released_total") // what is obtained is released
	for name, is := range used {
		if !is {
			t.Errorf("no query uses %s", name)
		}
	}
}
