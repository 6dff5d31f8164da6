package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	times "github.com/seed-14de3678/redislock/internal/shown"
)

// long is what a test may take without being named.
const long = time.Minute

// running is what runs at the moment, and which of what has ended took long.
type running struct {
	packages map[string]bool
	since    map[test]time.Time // of the tests that run and do not wait for others
	parents  map[test]bool      // those that have subtests, whose time is that of the subtests
	long     []string           // tests that took longer than a minute, as they ended
}

func newRunning() running {
	return running{packages: map[string]bool{}, since: map[test]time.Time{}, parents: map[test]bool{}}
}

// starts notes that a test runs, or goes on.
func (r *running) starts(t test, now time.Time) {
	r.since[t] = now
	for {
		i := strings.LastIndexByte(t.Test, '/')
		if i < 0 {
			return
		}
		t.Test = t.Test[:i]
		r.parents[t] = true
	}
}

// pauses notes that a test waits until it may run together with others.
func (r *running) pauses(t test) { delete(r.since, t) }

// ends notes how long a test took.
func (r *running) ends(t test, took time.Duration) {
	if took >= long && !r.parents[t] {
		r.long = append(r.long, t.took(took))
	}
	delete(r.since, t)
	delete(r.parents, t)
}

// packageEnds notes that the tests of a package have ended, those as well that have reported
// no end.
func (r *running) packageEnds(name string) {
	delete(r.packages, name)
	maps.DeleteFunc(r.since, func(t test, _ time.Time) bool { return t.Package == name })
	maps.DeleteFunc(r.parents, func(t test, _ bool) bool { return t.Package == name })
}

// text says which packages run, and how many of their tests at this moment.
func (r *running) text() string {
	if len(r.packages) == 0 {
		return "no test runs: the go command builds"
	}
	count := map[string]int{}
	for t := range r.since {
		if !r.parents[t] {
			count[t.Package]++
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		parts = append(parts, fmt.Sprintf("%s %d", short(name), count[name]))
	}
	return "running: " + strings.Join(parts, ", ")
}

// overdue names the tests that have run for longer than a minute, in the order of their names.
func (r *running) overdue(now time.Time) []string {
	var names []string
	for t, since := range r.since {
		if took := now.Sub(since); took >= long && !r.parents[t] {
			names = append(names, t.took(took))
		}
	}
	slices.Sort(names)
	return names
}

func (t test) took(d time.Duration) string {
	return fmt.Sprintf("%s %s (%s)", short(t.Package), t.Test, times.Duration(d))
}

// short is a package by its folder in the repository; the one at the root has the repository's name.
func short(name string) string {
	parts := strings.SplitN(name, "/", 4) // host, owner, repository, folder
	return parts[len(parts)-1]
}
