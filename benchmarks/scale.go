package main

import (
	"fmt"
	"math"

	"github.com/seed-14de3678/redislock/benchmarks/internal/measure"
	"github.com/seed-14de3678/redislock/benchmarks/internal/rows"
)

// busyness is the share of its main thread that a server is to be busy: beyond that, those who wait
// for an answer wait for each other.
const busyness = .5

// scale says what one Redis carries, and several masters of a Cluster, from what one operation takes
// of the main thread. A figure that is missing leaves its line out.
func (c comparison) scale() table {
	t := table{{"", "server CPU of one", "one Redis", "3 masters", "10 masters"}}
	add := func(what, unit string, micros float64) {
		if math.IsNaN(micros) {
			return
		}
		line := []string{what, measure.Micros.Format(micros)}
		for _, masters := range []float64{1, 3, 10} {
			line = append(line, rounded(busyness*1e6/micros*masters)+unit)
		}
		t = append(t, line)
	}
	cpu := func(row, by string, at int) float64 {
		measured, _ := c.row(row)
		return measured.Find(by, at, measure.ServerCPU.Name).Median
	}
	add("obtain and release of a free key", "/s", cpu("alone", "redislock", 0))
	for _, keys := range []int{4, 64, 256} {
		add(fmt.Sprintf("obtain and release of a free set of %d keys", keys), "/s", cpu("free", "write", keys))
	}
	add("a reader comes, renews and goes", "/s", cpu("readers", "live", 1000))
	for _, keys := range []int{1, 4, 16, 64, 256} {
		add(fmt.Sprintf("a turn in line, %s", keysText(keys)), "/s", cpu("sets", "same set", keys))
	}
	add("an attempt that is refused", "/s", cpu("refused", "redislock", 0))
	if watched, measured := c.row("watched"); measured {
		renewal := watched.Figures[0].Value.Median
		add("a watched lock, ttl 30 s: a renewal every 10 s", "", renewal/10)
	}
	if idle, measured := c.row("idle"); measured {
		add("a waiter while nothing moves", "", idle.Find(rows.IdleSide, 0, measure.ServerShare.Name).Median/rows.IdleWaiters)
	}
	return t
}

func keysText(keys int) string {
	if keys == 1 {
		return "1 key"
	}
	return fmt.Sprintf("sets of %d keys", keys)
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
