package torture_test

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/campaign"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// scenarios are rounds in which the campaign finds defects that proof/defects/torture.txt plants. Without a defect they
// find nothing.
var scenarios = map[string]campaign.Scenario{
	"sets":          {Load: "sets"},
	"sets-kill":     {Load: "sets", Names: []string{"worker-kill"}, For: 10 * time.Second},
	"overrun":       {Load: "overrun"},
	"line":          {Load: "line", For: 15 * time.Second},
	"turns":         {Load: "turns", For: 10 * time.Second},
	"pass-on":       {Load: "pass-on", For: 10 * time.Second},
	"line-kill":     {Load: "line", Names: []string{"worker-kill"}, Every: 13 * time.Second, For: 26 * time.Second},
	"crowd-kill":    {Load: "crowd", Names: []string{"worker-kill"}},
	"watched-stop":  {Load: "watched", Names: []string{"stop-long"}, Lasts: 3 * time.Second, Every: time.Second},
	"linear":        {Load: "linear", Endless: true},
	"linear-queue":  {Load: "linear-queue", Endless: true},
	"linear-late":   {Load: "linear", Endless: true, Names: []string{"late"}, Lasts: 2 * time.Second},
	"linear-cut":    {Load: "linear", Endless: true, Names: []string{"cut-replies"}, Lasts: 2 * time.Second},
	"queue":         {Load: "queue"},
	"queue-kill":    {Load: "queue", Names: []string{"worker-kill"}, For: 10 * time.Second},
	"watchdog-stop": {Load: "watchdog", Names: []string{"stop-long"}, Lasts: 3 * time.Second, For: 10 * time.Second},
	"fenced":        {Load: "fenced"},
	"leave":         {Load: "leave"},
	"tokens-late":   {Load: "tokens", Names: []string{"late"}, Lasts: 2 * time.Second},
	"break":         {Load: "break"},
	"quorum":        {Load: "quorum", Setup: campaign.Setup{Topology: world.Quorum3}},
	"multi":         {Load: "multi"},
	"reentrant":     {Load: "reentrant"},
	"min-uptime": {
		Load: "watchdog", Setup: campaign.Setup{MinUptime: true}, Names: []string{"restart-empty"}, Lasts: 500 * time.Millisecond,
		Every: 4 * time.Second, For: 32 * time.Second,
	},
}

// TestFinds is a part of make defects, which names it. The rounds take minutes, and on a tree without defects they show less
// than TestTorture: so a run that does not name it only sees that each defect has a scenario, and each scenario a load.
func TestFinds(t *testing.T) {
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "TestFinds") {
		checkScenarios(t)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		s := scenarios[name]
		t.Run(name, func(t *testing.T) {
			if s.Topology == "" {
				s.Topology = world.Single
			}
			s.Kind = redistest.Redis
			if s.Every == 0 {
				s.Every = 500 * time.Millisecond
			}
			if s.Lasts == 0 {
				s.Lasts = 200 * time.Millisecond
			}
			if s.For == 0 {
				s.For = 5 * time.Second
			}
			p := parts()
			p.Times.Calm, p.Times.Clean = 3*time.Second, 20*time.Second
			c := &campaign.Campaign{Parts: p, Options: campaign.Options{Seed: 1, Keep: filepath.Join(t.TempDir(), "kept")}}
			if r := c.Play(t, s); len(r.Operations) == 0 {
				t.Error("there was no operation")
			}
		})
	}
}

// checkScenarios compares the scenarios with the list of defects and with the loads.
func checkScenarios(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "defects", "torture.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^test proof/torture TestFinds/(\S+)`).FindAllStringSubmatch(string(text), -1) {
		if _, ok := scenarios[m[1]]; !ok {
			t.Errorf("a defect is to be found by scenario %q, which is not there", m[1])
		}
	}
	for name, s := range scenarios {
		topology := cmp.Or(s.Topology, world.Single)
		if !slices.Contains(loads(topology, s.Endless), s.Load) {
			t.Errorf("scenario %q has load %q, which cannot be played on %s", name, s.Load, topology)
		}
	}
}
