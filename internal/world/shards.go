package world

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Shards are the nodes of a Cluster, with a client of each that may do everything there.
type Shards struct {
	*redistest.Cluster
	rdb   *redis.ClusterClient
	Admin map[*redistest.Server]*redis.Client // by node, replicas included
}

// NewShards starts a Cluster of three masters.
func NewShards(t *testing.T, replicasPerMaster int) *Shards {
	t.Helper()
	s := &Shards{
		Cluster: redistest.StartCluster(t, redistest.Redis, 3, replicasPerMaster),
		Admin:   make(map[*redistest.Server]*redis.Client),
	}
	s.rdb = s.Client(t)
	for _, node := range s.Nodes() {
		s.Admin[node] = node.Client(t)
	}
	return s
}

// NewClient returns a Client with connections of its own.
func (s *Shards) NewClient(t *testing.T) *redislock.Client {
	t.Helper()
	return NewClient(t, s.Client(t))
}

// Node returns the server at which a key is.
func (s *Shards) Node(t *testing.T, key string) *redistest.Server {
	t.Helper()
	addr := check.Must[*redis.Client](t)(s.rdb.MasterForKey(t.Context(), key)).Options().Addr
	return s.Nodes()[slices.Index(s.Addrs(), addr)]
}

// Tags returns so many hash tags of different slots at each of the masters that are asked for.
func (s *Shards) Tags(t *testing.T, n int, at ...*redistest.Server) []string {
	t.Helper()
	var tags []string
	count := make(map[*redistest.Server]int)
	for i := 0; len(tags) < n*len(at); i++ {
		tag := fmt.Sprintf("{%s:%d}", t.Name(), i)
		if node := s.Node(t, tag); slices.Contains(at, node) && count[node] < n {
			count[node]++
			tags = append(tags, tag)
		}
	}
	return tags
}

// Others returns the masters without one of them, as long as no master has been replaced.
func (s *Shards) Others(one *redistest.Server) []*redistest.Server {
	return slices.DeleteFunc(s.Nodes()[:3], func(node *redistest.Server) bool { return node == one })
}

// WantNothing checks that nothing of this test is left on any node.
func (s *Shards) WantNothing(t *testing.T) {
	t.Helper()
	for _, rdb := range s.Admin {
		WantNothing(t, rdb, t.Name())
	}
}

// WantOnlyGuards waits until nothing but guards is left of a tag: a request may not have been answered.
func (s *Shards) WantOnlyGuards(t *testing.T, tag string) {
	t.Helper()
	check.Eventually(t, 20*time.Second, "nothing but guards is left", func() bool {
		left := 0
		for _, rdb := range s.Admin {
			keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+tag+"*").Result())
			left += len(check.WithoutGuards(t.Context(), rdb, keys...))
		}
		return left == 0
	})
}
