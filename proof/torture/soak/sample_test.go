package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A sample is how the process and its server are at one moment.
type sample struct {
	at time.Duration // since the beginning
	process
	keys, memory, scripts, connections, channels int64 // of the server
}

// askServer adds what the server says of itself.
func (s *sample) askServer(ctx context.Context, rdb *redis.Client) error {
	text, err := rdb.Info(ctx, "memory", "clients").Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		field := map[string]*int64{
			"used_memory": &s.memory, "number_of_cached_scripts": &s.scripts, "connected_clients": &s.connections,
		}[name]
		if field == nil {
			continue
		}
		if *field, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("INFO: %s: %w", name, err)
		}
	}
	if s.keys, err = rdb.DBSize(ctx).Result(); err != nil {
		return err
	}
	channels, err := rdb.PubSubChannels(ctx, "*").Result()
	s.channels = int64(len(channels))
	return err
}

// A figure is one number of a sample that must not grow.
type figure struct {
	name  string
	of    func(s sample) int64
	unit  int64 // in which it is shown
	slack int64 // by which it may be greater at the end, beside a tenth
}

const (
	mebi = 1 << 20
	// buffers is what go-redis keeps for each connection of a pool, which has as many as were needed at once.
	buffers = 64 << 10
)

var figures = []figure{
	{"heap of the process but buffers, MiB", func(s sample) int64 { return s.Heap - buffers*s.Sockets }, mebi, mebi},
	{"resident memory of the process, MiB", func(s sample) int64 { return s.Resident }, mebi, 12 * mebi},
	{"goroutines", func(s sample) int64 { return s.Goroutines }, 1, 25},
	{"sockets of the process", func(s sample) int64 { return s.Sockets }, 1, 25},
	{"keys of the server", func(s sample) int64 { return s.keys }, 1, 100},
	{"memory of the server, MiB", func(s sample) int64 { return s.memory }, mebi, mebi},
	{"scripts of the server", func(s sample) int64 { return s.scripts }, 1, 0},
	{"connections to the server", func(s sample) int64 { return s.connections }, 1, 25},
	{"channels of the server", func(s sample) int64 { return s.channels }, 1, 10},
}

// growth compares the second quarter of the samples with the last one, by their medians: in the first quarter pools fill, and
// what lives for five minutes has not ended yet. It reports whether the figure stays as it is.
func (f figure) growth(samples []sample) (before, after int64, flat bool) {
	n := len(samples)
	before, after = f.median(samples[n/4:n/2]), f.median(samples[n-n/4:])
	return before, after, after <= before+before/10+f.slack
}

func (f figure) median(samples []sample) int64 {
	sorted := slices.SortedFunc(slices.Values(samples), func(a, b sample) int { return cmp.Compare(f.of(a), f.of(b)) })
	return f.of(sorted[len(sorted)/2])
}

// table shows how each figure was in eighths of the time.
func table(samples []sample) string {
	var b strings.Builder
	const columns = 8
	b.WriteString("| figure |")
	for i := range columns {
		fmt.Fprintf(&b, " %v |", samples[(i+1)*len(samples)/columns-1].at.Round(time.Second))
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", columns) + "\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s |", f.name)
		for i := range columns {
			value := f.median(samples[i*len(samples)/columns : (i+1)*len(samples)/columns])
			if f.unit == 1 {
				fmt.Fprintf(&b, " %d |", value)
			} else {
				fmt.Fprintf(&b, " %.1f |", float64(value)/float64(f.unit))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("| operations a second |")
	for i := range columns {
		part := samples[i*len(samples)/columns : (i+1)*len(samples)/columns]
		first, last := part[0], part[len(part)-1]
		fmt.Fprintf(&b, " %.0f |", float64(last.Operations-first.Operations)/max(0.001, (last.at-first.at).Seconds()))
	}
	b.WriteString("\n")
	return b.String()
}
