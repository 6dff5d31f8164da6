package redistest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// clusterView is what one node knows of the cluster, as of CLUSTER NODES.
type clusterView []nodeView

// nodeView is one line of it.
type nodeView struct {
	id     string
	port   int
	flags  []string
	master string // the id of its master, "-" if it has none
	epoch  int
	linked bool
	slots  [][2]int // ranges, both ends included
}

// viewOf asks m.
func viewOf(ctx context.Context, m member) (clusterView, error) {
	text, err := m.admin.ClusterNodes(ctx).Result()
	if err != nil {
		return nil, err
	}
	return parseView(text)
}

// parseView reads lines of
//
//	id ip:port@busport[,hostname] flags master ping pong epoch link [slot|first-last|[moving]]...
func parseView(text string) (clusterView, error) {
	var view clusterView
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			return nil, fmt.Errorf("redistest: CLUSTER NODES: %q", line)
		}
		addr, _, _ := strings.Cut(f[1], "@")
		port, err := strconv.Atoi(addr[strings.LastIndexByte(addr, ':')+1:])
		if err != nil {
			return nil, fmt.Errorf("redistest: CLUSTER NODES: address %q", f[1])
		}
		epoch, err := strconv.Atoi(f[6])
		if err != nil {
			return nil, fmt.Errorf("redistest: CLUSTER NODES: epoch %q", f[6])
		}
		view = append(view, nodeView{
			id: f[0], port: port, flags: strings.Split(f[2], ","), master: f[3],
			epoch: epoch, linked: f[7] == "connected", slots: parseSlots(f[8:]),
		})
	}
	return view, nil
}

// parseSlots skips what is not a range, such as "[93-<-id]" of a slot on the move.
func parseSlots(words []string) [][2]int {
	var ranges [][2]int
	for _, w := range words {
		lo, hi, isRange := strings.Cut(w, "-")
		if !isRange {
			hi = lo
		}
		first, err1 := strconv.Atoi(lo)
		last, err2 := strconv.Atoi(hi)
		if err1 == nil && err2 == nil {
			ranges = append(ranges, [2]int{first, last})
		}
	}
	return ranges
}

func (n nodeView) is(flag string) bool { return slices.Contains(n.flags, flag) }

func (n nodeView) owns(slot int) bool {
	return slices.ContainsFunc(n.slots, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
}

// self is the node that was asked.
func (v clusterView) self() (nodeView, bool) {
	for _, n := range v {
		if n.is("myself") {
			return n, true
		}
	}
	return nodeView{}, false
}

// portOf is the port of the node with this id, 0 if it is not known.
func (v clusterView) portOf(id string) int {
	for _, n := range v {
		if n.id == id {
			return n.port
		}
	}
	return 0
}

// complete returns nil if so many masters have slots, and each so many replicas.
func (v clusterView) complete(masters, replicas int) error {
	followers := map[string]int{}
	for _, n := range v {
		if n.is("slave") {
			followers[n.master]++
		}
	}
	owners := 0
	for _, n := range v {
		if len(n.slots) == 0 {
			continue
		}
		owners++
		if followers[n.id] != replicas {
			return fmt.Errorf("port %d has %d replicas of %d", n.port, followers[n.id], replicas)
		}
	}
	if owners != masters {
		return fmt.Errorf("%d masters of %d have slots", owners, masters)
	}
	return nil
}

// newestOwner is the port of the node with the newest claim to slot in any of the
// views, 0 if nobody owns it.
func newestOwner(views []clusterView, slot int) int {
	port, epoch := 0, -1
	for _, v := range views {
		for _, n := range v {
			if n.owns(slot) && n.epoch > epoch {
				port, epoch = n.port, n.epoch
			}
		}
	}
	return port
}
