package guard_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A keptConn is a connection that keeps what is written next until it is let go on.
type keptConn struct {
	net.Conn
	next *atomic.Bool
	goOn <-chan struct{}
}

func (f keptConn) Write(p []byte) (int, error) {
	if f.next.CompareAndSwap(true, false) {
		<-f.goOn
	}
	return f.Conn.Write(p)
}

// A request whose caller has left may arrive long after the clean-up. If it was sent before, it changes nothing; otherwise
// it is not sent any more.
func TestBoundLateRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ sent, cancelled bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		t.Run(fmt.Sprintf("sent=%t/cancelled=%t", test.sent, test.cancelled), func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				var next atomic.Bool
				late := make(chan struct{})
				rdb := mini.Client(t, func(opt *redis.Options) {
					opt.ReadTimeout, opt.WriteTimeout = -1, -1
					dial := opt.Dialer
					opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := dial(ctx, network, addr)
						return keptConn{conn, &next, late}, err
					}
				})
				client := redislock.New(rdb)
				defer client.Close()
				warm := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("warm"), time.Hour, nil))
				check.NoError(t, warm.Release(t.Context()))
				var outcome atomic.Value
				if next.Store(test.sent); !test.sent {
					rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
						if !check.Among(cmds, "obtain") || outcome.Load() != nil {
							return send(cmds)
						}
						outcome.Store("")
						<-late
						err := send(cmds)
						outcome.Store(fmt.Sprint(err))
						return err
					}})
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.cancelled {
					time.AfterFunc(time.Second, cancel)
				}
				_, err := client.Obtain(ctx, w.Keys("a"), 10*time.Minute, nil)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				time.Sleep(4 * time.Minute)
				close(late)
				synctest.Wait()
				if text, _ := outcome.Load().(string); !test.sent && !strings.Contains(text, "no connection") {
					t.Errorf("got error %q of a request that nobody waits for, want it not to be sent", text)
				}
				check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			})
		})
	}
}
