package main

import (
	"math"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// busyness is the share of its main thread that a server is to be busy: beyond that, those who wait
// for an answer wait for each other.
const busyness = .5

// A load is an operation that a server has to carry.
type load struct {
	what    string
	row, by string
	at      int
	unit    string  // of how many there are
	rare    float64 // how many seconds there are between two of them; 0: as many as there can be
}

var loads = []load{
	{what: "obtain and release of a free key", row: "alone", by: "redislock", unit: "/s"},
	{what: "the same, a set of 256 keys", row: "free", by: "write", at: 256, unit: "/s"},
	{what: "one more reader comes, renews and goes", row: "readers", by: "live", at: 1000, unit: "/s"},
	{what: "a turn in line, 1 key", row: "sets", by: "same set", at: 1, unit: "/s"},
	{what: "a turn in line, a set of 256 keys", row: "sets", by: "same set", at: 256, unit: "/s"},
	{what: "an attempt that is refused", row: "refused", by: "redislock", unit: "/s"},
	{what: "a watched lock, ttl 30 s: a renewal every 10 s", row: "watched", by: rows.WatchedSide, rare: 10},
}

// scale says what one Redis carries, from what one operation takes of the main thread. What was not measured is left out.
func (c comparison) scale() table {
	t := table{{"", "server CPU", "network", "one Redis"}}
	for _, l := range loads {
		row, measured := c.row(l.row)
		if !measured {
			continue
		}
		micros, bytes := row.Find(l.by, l.at, measure.ServerCPU.Name).Median, row.Find(l.by, l.at, measure.Network.Name).Median
		t = append(t, []string{
			l.what, measure.Micros.Format(micros), measure.Bytes.Format(bytes),
			rounded(busyness*1e6/micros*max(l.rare, 1)) + l.unit,
		})
	}
	if idle, measured := c.row("idle"); measured {
		micros := idle.Find(rows.IdleSide, 0, measure.ServerShare.Name).Median / rows.IdleWaiters
		t = append(t, []string{"a waiter while nothing moves", measure.Micros.Format(micros) + " a second", "", rounded(busyness * 1e6 / micros)})
	}
	return t
}

// rounded keeps two digits: what is reckoned from one operation is not known better.
func rounded(value float64) string {
	if value <= 0 {
		return "0"
	}
	step := math.Pow10(int(math.Floor(math.Log10(value))) - 1)
	return groupedInt(int(math.Round(value/step) * step))
}

func groupedInt(value int) string { return measure.PerSec.Format(float64(value)) }
