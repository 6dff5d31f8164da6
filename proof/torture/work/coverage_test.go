package work_test

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A shape says whether an operation of a history was made by a method.
type shape func(o history.Operation) bool

// changesNothing is of a method that only tells what its lock or its Client knows.
func changesNothing(history.Operation) bool { return true }

// acts is the shape of what has an action of its own.
func acts(a history.Action) shape { return func(o history.Operation) bool { return o.Action == a } }

// obtains is the shape of an obtain with, or without, keys to be written and read; with says whether it is one of With.
func obtains(writes, reads, with bool) shape {
	return func(o history.Operation) bool {
		return o.Action == history.Obtain && (len(o.Write) > 0) == writes && (len(o.Read) > 0) == reads && (o.Name == "with") == with
	}
}

// ofPackage narrows a shape to locks of a package.
func ofPackage(p history.Package, s shape) shape {
	return func(o history.Operation) bool { return o.Package == p && s(o) }
}

// watched is the shape of a lock whose holder is told of its loss.
func watched(o history.Operation) bool { return o.Watched }

// fencedBy is the shape of a lock with a number.
func fencedBy(o history.Operation) bool { return o.Action == history.Obtain && o.Fence > 0 }

// ofHeld are the methods that all locks have.
var ofHeld = map[string]shape{
	"Context": watched, "Lost": watched, "Refresh": acts(history.Refresh), "Release": acts(history.Release),
	"TTL": acts(history.Remaining), "Deadline": changesNothing, "Keys": changesNothing, "Metadata": changesNothing,
	"String": changesNothing, "GoString": changesNothing, "LogValue": changesNothing,
}

// ofObtainer are the methods that Clients and Owners of packages redislock and quorum have.
var ofObtainer = map[string]shape{
	"Obtain": obtains(true, false, false), "ObtainRead": obtains(false, true, false), "ObtainSet": obtains(true, true, false),
	"With": obtains(true, false, true), "WithSet": obtains(true, true, true),
}

// ofClient are the other methods of their Clients. Those of an Owner say what As does.
var ofClient = map[string]shape{"Attach": acts(history.Attach), "Close": changesNothing, "As": changesNothing}

// owned narrows shapes to locks under a token of the caller's choice, and unowned to all others.
func owned(methods map[string]shape) map[string]shape   { return under(true, methods) }
func unowned(methods map[string]shape) map[string]shape { return under(false, methods) }

func under(token bool, methods map[string]shape) map[string]shape {
	all := map[string]shape{}
	for name, was := range methods {
		all[name] = func(o history.Operation) bool { return (o.Token != "") == token && was(o) }
	}
	return all
}

// ofMulti are the methods that a Client and an Owner of package multi have.
var ofMulti = map[string]shape{
	"Obtain": obtains(true, false, false), "With": func(o history.Operation) bool { return o.Name == "with" },
}

// covered are the methods of all exported types that obtain or are locks, and what in a history shows that one was called.
var covered = []struct {
	of  any
	pkg history.Package
	by  []map[string]shape
}{
	{&redislock.Client{}, history.Plain, []map[string]shape{unowned(ofObtainer), ofClient, {
		"Break": acts(history.Break), "Inspect": acts(history.Inspect), "RedisKey": changesNothing,
		"Replicas": changesNothing, "MinUptime": changesNothing,
	}}},
	{redislock.Owner{}, history.Plain, []map[string]shape{owned(ofObtainer)}},
	{&redislock.Lock{}, history.Plain, []map[string]shape{ofHeld, {
		"Upgrade": acts(history.Upgrade), "Downgrade": acts(history.Downgrade), "ReleaseKeys": acts(history.ReleaseKeys),
		"Leave": acts(history.Leave), "RaiseFence": acts(history.RaiseFence), "Fence": fencedBy, "Token": changesNothing,
	}}},
	{&quorum.Client{}, history.Quorum, []map[string]shape{unowned(ofObtainer), ofClient}},
	{quorum.Owner{}, history.Quorum, []map[string]shape{owned(ofObtainer)}},
	{&quorum.Lock{}, history.Quorum, []map[string]shape{ofHeld, {
		"Leave": acts(history.Leave), "Fence": fencedBy, "Nodes": changesNothing,
	}}},
	{&multi.Client{}, history.Multi, []map[string]shape{unowned(ofMulti), {"As": changesNothing}}},
	{multi.Owner{}, history.Multi, []map[string]shape{owned(ofMulti)}},
	{&multi.Lock{}, history.Multi, []map[string]shape{ofHeld, {
		"Leave": acts(history.Leave), "Parts": changesNothing, "Token": changesNothing,
	}}},
	{&reentrant.Hold{}, history.Reentrant, []map[string]shape{ofHeld, {"Fence": fencedBy}}},
	{&election.Candidate{}, history.Election, []map[string]shape{{"Run": acts(history.Lead)}}},
}

// An album is the operations of all loads that have succeeded.
type album struct {
	mu  sync.Mutex
	ops []history.Operation
}

func (a *album) add(h *history.History) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range h.Operations() {
		if o.Outcome == history.OK {
			a.ops = append(a.ops, o)
		}
	}
}

// A gap is a method that no load has called with success.
type gap struct {
	method string
	pkg    history.Package
	was    shape
}

// gaps returns the methods that no load has called with success yet. A method that the table does not know is one that
// somebody has added since: a load has to call it, or it changes nothing.
func (a *album) gaps(t *testing.T) (all []gap) {
	t.Helper()
	for _, c := range covered {
		of := reflect.TypeOf(c.of)
		table := map[string]shape{}
		for _, by := range c.by {
			maps.Copy(table, by)
		}
		for i := range of.NumMethod() {
			name := of.Method(i).Name
			was, ok := table[name]
			delete(table, name)
			switch g := (gap{of.String() + "." + name, c.pkg, ofPackage(c.pkg, was)}); {
			case !ok:
				t.Errorf("%s is not in the table", g.method)
			case !slices.ContainsFunc(a.ops, g.was):
				all = append(all, g)
			}
		}
		for name := range table {
			t.Errorf("%s has no method %s", of, name)
		}
	}
	return all
}

// close plays the loads of a package until one has called the method, each for a while at most.
func (g gap) close(t *testing.T) {
	t.Helper()
	called := func(h *history.History) bool {
		return slices.ContainsFunc(h.Operations(), func(o history.Operation) bool { return o.Outcome == history.OK && g.was(o) })
	}
	for _, load := range work.Loads() {
		if slices.Contains(load.Packages, g.pkg) {
			target, _ := serve(t, load.Topologies[0])
			if called(play(t, load, target, 15*time.Second, called)) {
				return
			}
		}
	}
	t.Errorf("no load calls %s", g.method)
}
