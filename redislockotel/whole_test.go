package redislockotel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// A lock over several servers is one lock.
func TestQuorum(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var minis []*redistest.Mini
		var nodes []*redislock.Client
		for range 3 {
			mini := redistest.PipeMini(t)
			node := redislock.New(mini.Client(t))
			t.Cleanup(node.Close)
			minis, nodes = append(minis, mini), append(nodes, node)
		}
		client := check.Must[*quorum.Client](t)(quorum.New(nodes, quorum.WithHooks(s.hooks)))
		t.Cleanup(client.Close)
		keys, named := []string{"a"}, redislock.Options{Name: "n"}

		lock := check.Must[*quorum.Lock](t)(client.Obtain(t.Context(), keys, time.Minute, &named))
		_, err := client.Obtain(t.Context(), keys, time.Minute, &named)
		check.Is(t, err, redislock.ErrNotObtained)
		s.want(t, "held{write n once} 1", "obtained{write n once} 1", "refused{conflict write n once} 1")
		time.Sleep(time.Second)
		check.NoError(t, lock.Release(t.Context()))
		_ = check.Must[*quorum.Lock](t)(client.Obtain(t.Context(), keys, time.Minute, &named)) // forgotten
		time.Sleep(time.Hour)
		s.want(t, "obtained{write n once} 2", "refused{conflict write n once} 1", "released{write n once} 1",
			"hold.duration{write n once} 1 in 1s", "expired{write n once} 1")

		err = client.With(t.Context(), keys, time.Minute, &named, func(ctx context.Context) error {
			for _, mini := range minis[:2] { // somebody else has the key there
				check.NoError(t, mini.Miniredis().Set("a", "other"))
				mini.Miniredis().SetTTL("a", time.Hour)
			}
			<-ctx.Done()
			synctest.Wait() // until the hooks are told, which may else hear of the Release first
			return nil
		})
		check.Is(t, err, redislock.ErrLockLost)
		synctest.Wait()
		lines := s.lines(t)
		s.want(t, "obtained{write n once} 3", "refused{conflict write n once} 1", "released{write n once} 1",
			"hold.duration{write n once} 1 in 1s", "expired{write n once} 1", "lost{unconfirmed write n once} 1",
			lineOf(lines, "hold.duration{unconfirmed write n once} 1 in "))
		s.wantMemory(t, 0)
	})
}

// So is a lock over several parts, whose Clients have hooks of their own here.
func TestMulti(t *testing.T) {
	client := redislockotel.WithAttributes(attribute.String("client", "parts"))
	inScene(t, func(t *testing.T, s *scene) {
		whole := newMeter(t)
		parts := []multi.Part{{Client: s.client, Set: redislock.Set{Write: []string{"a"}}}, {Client: s.client, Set: redislock.Set{Read: []string{"b"}}}}
		opt := polls(time.Second)
		client := multi.Client{Hooks: whole.hooks}
		lock := check.Must[*multi.Lock](t)(client.Obtain(t.Context(), parts, time.Minute, &opt))
		time.AfterFunc(10*time.Second+time.Millisecond, func() { _ = lock.Release(context.Background()) })
		err := client.With(t.Context(), parts, time.Minute, &opt, func(ctx context.Context) error {
			whole.want(t, "held{write n poll} 1", "obtained{write n poll} 2", "released{write n poll} 1",
				"hold.duration{write n poll} 1 in 10.001s", lineOf(whole.lines(t), "wait.duration{write n poll} 1 in "))
			s.mini.Miniredis().Del("b")
			<-ctx.Done()
			synctest.Wait() // until the hooks are told, which may else hear of the Release first
			return nil
		})
		check.Is(t, err, redislock.ErrLockLost)
		synctest.Wait()
		lines := whole.lines(t)
		whole.want(t, "obtained{write n poll} 2", "released{write n poll} 1", "lost{unconfirmed write n poll} 1",
			"hold.duration{write n poll} 1 in 10.001s", lineOf(lines, "hold.duration{unconfirmed write n poll} 1 in "),
			lineOf(lines, "wait.duration{write n poll} 1 in "))
		whole.wantGone(t)
		if line := lineOf(s.lines(t), "obtained{parts read n "); line == "" || line[0] != 'o' {
			t.Errorf("the parts: %s", line)
		}
		s.wantMemory(t, 0)
	}, client)
}

func (m *meter) wantGone(t *testing.T) {
	t.Helper()
	if holds, waits := m.memory(); holds != 0 || waits != 0 {
		t.Errorf("got %d holds and %d waits remembered, want none", holds, waits)
	}
}

// What two hooks of one provider count adds up.
func TestTwoHooks(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		second := check.Must[redislock.Hooks](t)(redislockotel.Hooks(nil,
			redislockotel.WithMeterProvider(s.provider), redislockotel.WithTracerProvider(s.tracers)))
		_ = s.obtain(t, time.Hour, watched, "a")
		s.client = redislock.New(s.rdb, redislock.WithHooks(second))
		t.Cleanup(s.client.Close)
		_ = s.obtain(t, time.Hour, watched, "b")
		s.want(t, "held{write n once} 2", "obtained{write n once} 2")
	})
}
