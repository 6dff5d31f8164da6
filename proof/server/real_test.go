package server

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	_ "github.com/seed-14de3678/redislock" // whose scripts these are
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

//go:embed testdata/around.lua
var around string

// A scriptServer is a server that runs the scripts themselves, with the clock, the leases and the listeners of the test.
type scriptServer struct {
	rdb     *redis.Client
	scripts map[string]*redis.Script
}

func newScriptServer(tb testing.TB, kind redistest.Kind) *scriptServer {
	tb.Helper()
	s := &scriptServer{redistest.Start(tb, kind).Client(tb), map[string]*redis.Script{}}
	for name := range scripts {
		s.scripts[name] = redis.NewScript(strings.Replace(around, "--#script", check.SourceOf(name), 1))
	}
	return s
}

// plant makes the server hold this, and nothing else.
func (s *scriptServer) plant(ctx context.Context, space Space) error {
	pipe := s.rdb.Pipeline()
	pipe.FlushAll(ctx)
	for key, thing := range space {
		switch thing.Kind {
		case String:
			pipe.Set(ctx, key, thing.Text, 0)
		case Sorted:
			for _, m := range thing.Members {
				pipe.ZAdd(ctx, key, redis.Z{Score: m.Score, Member: m.Text})
			}
		case Hash:
			for field, text := range thing.Fields {
				pipe.HSet(ctx, key, field, text)
			}
		default:
			pipe.RPush(ctx, key, "somebody else's")
		}
		if thing.End != 0 {
			pipe.Do(ctx, "pexpireat", key, thing.End)
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}

// run runs a script, and returns what it has done, and all that there is behind it.
func (s *scriptServer) run(ctx context.Context, e Step) (o Outcome, space Space, err error) {
	args := []any{e.Micros, e.Up, len(e.Heard)}
	for channel, n := range e.Heard {
		args = append(args, channel, n)
	}
	for _, arg := range e.Args {
		args = append(args, arg)
	}
	reply, err := s.scripts[e.Script].Run(ctx, s.rdb, e.Keys, args...).Slice()
	if err != nil {
		return o, nil, err
	}
	if len(reply) != 5 {
		return o, nil, fmt.Errorf("got reply %v", reply)
	}
	o.Reply, o.Commands = reply[1], int(reply[4].(int64))
	if reply[0] == int64(0) {
		o.Reply, o.Err = nil, Failure(fmt.Sprint(reply[1]))
	}
	for rest := texts(reply[2]); len(rest) > 0; rest = rest[3:] {
		o.Messages = append(o.Messages, Message{rest[0] == "s", rest[1], rest[2]})
	}
	return o, spaceOf(reply[3].([]any)), nil
}

func texts(list any) (all []string) {
	for _, text := range list.([]any) {
		all = append(all, fmt.Sprint(text))
	}
	return all
}

// spaceOf reads what the script around all others tells of the keys.
func spaceOf(list []any) Space {
	space := Space{}
	for ; len(list) > 0; list = list[4:] {
		thing := &Thing{Kind: Kind(list[1].(string)), End: max(0, list[2].(int64))}
		data := texts(list[3])
		switch thing.Kind {
		case String:
			thing.Text = data[0]
		case Sorted:
			for ; len(data) > 0; data = data[2:] {
				score, _ := strconv.ParseFloat(data[1], 64)
				thing.Members = append(thing.Members, Member{data[0], score})
			}
		case Hash:
			thing.Fields = map[string]string{}
			for ; len(data) > 0; data = data[2:] {
				thing.Fields[data[0]] = data[1]
			}
		}
		space[list[0].(string)] = thing
	}
	return space
}
