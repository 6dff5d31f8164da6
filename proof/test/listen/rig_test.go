package listen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A pubsub is a server in memory that knows channels only.
type pubsub struct {
	mu     sync.Mutex
	heard  []string                              // the commands about channels
	conns  []net.Conn                            // those that are open, and have sent one
	answer func(command, channel string) string  // "" is no answer; nil: as a server does
	dial   func(ctx context.Context) (err error) // is called before a connection is made; nil: nothing is
	dials  int
}

// done is the answer of a server to a command about a channel.
func done(command, channel string) string {
	return fmt.Sprintf("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n", len(command), command, len(channel), channel)
}

// client makes a client of the server. It ends with the test.
func (p *pubsub) client(t *testing.T) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, WriteTimeout: -1, Dialer: p.connect,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (p *pubsub) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	p.dials++
	dial := p.dial
	p.mu.Unlock()
	if dial != nil {
		if err := dial(ctx); err != nil {
			return nil, err
		}
	}
	near, far := net.Pipe()
	go p.serve(far)
	return near, nil
}

// serve answers one connection until it ends.
func (p *pubsub) serve(conn net.Conn) {
	redistest.AnswerCommands(conn, func(words []string) (reply string, answered bool) {
		switch command := words[0]; {
		case command == "hello":
			return "-ERR unknown command\r\n", true
		case strings.HasSuffix(command, "subscribe"):
			return p.answers(conn, command, words[1:]), true
		}
		return "+OK\r\n", true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(each net.Conn) bool { return each == conn })
}

func (p *pubsub) answers(conn net.Conn, command string, channels []string) (reply string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.conns, conn) {
		p.conns = append(p.conns, conn)
	}
	answer := p.answer
	if answer == nil {
		answer = done
	}
	for _, channel := range channels {
		p.heard = append(p.heard, command+" "+channel)
		reply += answer(command, channel)
	}
	return reply
}

// set has the server answer differently from now on.
func (p *pubsub) set(answer func(command, channel string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// say sends something to all connections when nothing else is under way, and returns when it was taken in.
func (p *pubsub) say(t *testing.T, text string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, conn := range conns {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Errorf("nobody hears %q: %v", text, err)
		}
	}
	synctest.Wait()
}

// publish sends a message on a channel.
func (p *pubsub) publish(t *testing.T, channel, text string) {
	t.Helper()
	p.say(t, fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(channel), channel, len(text), text))
}

// cut ends all connections.
func (p *pubsub) cut() {
	p.mu.Lock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	synctest.Wait()
}

// wantHeard checks which commands the server has got since it was last asked.
func (p *pubsub) wantHeard(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.heard)
	if !slices.Equal(p.heard, want) {
		t.Errorf("the server was asked for %q, want %q", p.heard, want)
	}
	p.heard = nil
}

// forget forgets what the server has heard: go-redis subscribes once more by itself when a connection is cut.
func (p *pubsub) forget() {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = nil
}

// wantOpen checks how many connections are open.
func (p *pubsub) wantOpen(t *testing.T, want int) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) != want {
		t.Errorf("%d connections are open, want %d", len(p.conns), want)
	}
}

// A shards is a client of several servers, which finds the one of a key as a Ring does.
type shards struct {
	*redis.Client
	mu    sync.Mutex
	of    func(key string) (*redis.Client, error)
	asked int // how often since then
}

// GetShardClientForKey finds the client of a key.
func (s *shards) GetShardClientForKey(key string) (*redis.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.of(key)
}

// find has it find clients in another way from now on.
func (s *shards) find(of func(key string) (*redis.Client, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.of = 0, of
}

// errNowhere says that it is not known where a key is.
var errNowhere = errors.New("the shard is not known")

// nowhere finds no client.
func nowhere(string) (*redis.Client, error) { return nil, errNowhere }

// at returns a function that finds a client for a key, and another one for all others.
func at(key string, one, others *redis.Client) func(key string) (*redis.Client, error) {
	return func(each string) (*redis.Client, error) {
		if each == key {
			return one, nil
		}
		return others, nil
	}
}

// A rig is a hub, and the server that it hears.
type rig struct {
	*listen.Hub
	*pubsub
	shards   *shards // its client, if each key has its channels
	schedule *clock.Schedule
	conn     *wire.Conn
}

// newRig makes a hub that hears what a client hears.
func newRig(t *testing.T, rdb redis.Scripter, p *pubsub) *rig {
	t.Helper()
	r := &rig{pubsub: p, schedule: clock.NewSchedule()}
	opt := wire.Options{}
	opt.Wraps, _ = rdb.(wire.GoRedis)
	r.conn = wire.New(rdb, opt)
	r.Hub = listen.NewHub(r.conn, r.schedule, "hub")
	t.Cleanup(func() {
		r.Close()
		r.schedule.Close()
	})
	return r
}

// oneServer runs fn in virtual time with a hub for one server, in which all waiters have one channel.
func oneServer(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := new(pubsub)
		fn(t, newRig(t, p.client(t), p))
	})
}

// manyChannels runs fn in virtual time with a hub for one server, in which each key has a channel.
func manyChannels(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := new(pubsub)
		rdb := p.client(t)
		s := &shards{Client: rdb, of: at("", rdb, rdb)}
		r := newRig(t, s, p)
		r.shards = s
		fn(t, r)
	})
}

// waiter makes a waiter for keys. Its name has 8 letters, its secret stands behind them.
func (r *rig) waiter(name string, keys ...string) *listen.Waiter {
	return r.NewWaiter(fmt.Sprintf("%-8.8ssecret", name), keys)
}

// subscribed makes a waiter for keys that hears its channel and knows it.
func (r *rig) subscribed(t *testing.T, name string, keys ...string) *listen.Waiter {
	t.Helper()
	w := r.waiter(name, keys...)
	w.Subscribe()
	want(t, w, news{subscribed: true, wake: true})
	return w
}

// news is what a waiter is to have heard.
type news struct {
	subscribed, wake bool
	err              error
	granted          listen.Grant
}

// want checks what a waiter has heard since it last looked. It is to be told of that, and of nothing else.
func want(t *testing.T, w *listen.Waiter, want news) {
	t.Helper()
	synctest.Wait()
	is := len(w.C()) > 0
	if is {
		<-w.C()
	}
	n := w.News()
	got := news{subscribed: n.Subscribed, wake: n.Wake, err: n.Err}
	if n.Granted != nil {
		got.granted = *n.Granted
	}
	if want.err != nil && errors.Is(got.err, want.err) {
		got.err = want.err
	}
	if got != want {
		t.Errorf("%s has heard %+v, want %+v", w.ID, got, want)
	}
	if told := want.wake || want.err != nil || want.granted != (listen.Grant{}); is != told {
		t.Errorf("%s was told that there is news: %t, want %t", w.ID, is, told)
	}
}
