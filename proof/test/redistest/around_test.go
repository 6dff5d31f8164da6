package redistest_test

import (
	"errors"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What check.Around does to a command by itself it does to one of a pipeline, and to no other.
func TestAround(t *testing.T) {
	t.Parallel()
	isB := func(cmd redis.Cmder) bool { return cmd.Name() == "incr" && cmd.Args()[1] == "b" }
	for name, test := range map[string]struct {
		around   check.Around
		a, b     error
		aIs, bIs int64 // afterwards
	}{
		"instead": {check.Around{Instead: func(cmd redis.Cmder) bool { return isB(cmd) && check.Answer(cmd, io.EOF) }}, nil, io.EOF, 2, 0},
		"after": {check.Around{After: func(cmd redis.Cmder) {
			if isB(cmd) {
				cmd.SetErr(io.EOF)
			}
		}}, nil, io.EOF, 2, 2},
		"not sent": {check.Around{Send: func([]redis.Cmder, func([]redis.Cmder) error) error { return io.EOF }}, io.EOF, io.EOF, 0, 0},
		"no answer": {check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			err := send(cmds)
			if cmds[0].Name() == "incr" { // the commands with which a connection begins are answered
				err = io.EOF
			}
			return err
		}}, io.EOF, io.EOF, 2, 2},
		"nothing": {check.Around{}, nil, nil, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartMini(t)
			rdb, direct := server.Client(t), server.Client(t)
			rdb.AddHook(test.around)
			sent := check.Count(rdb, "incr")
			want := func(what string, got, want error) {
				t.Helper()
				if !errors.Is(got, want) {
					t.Errorf("%s: got error %v, want %v", what, got, want)
				}
			}
			want("a alone", rdb.Incr(t.Context(), "a").Err(), test.a)
			want("b alone", rdb.Incr(t.Context(), "b").Err(), test.b)
			pipe := rdb.Pipeline()
			a, b := pipe.Incr(t.Context(), "a"), pipe.Incr(t.Context(), "b")
			_, err := pipe.Exec(t.Context())
			want("the pipeline", err, test.b)
			want("a of the pipeline", a.Err(), test.a)
			want("b of the pipeline", b.Err(), test.b)
			aIs, _ := direct.Get(t.Context(), "a").Int64()
			bIs, _ := direct.Get(t.Context(), "b").Int64()
			if aIs != test.aIs || bIs != test.bIs || sent.Load() != aIs+bIs {
				t.Errorf("a is %d, b is %d, %d were sent, want %d and %d", aIs, bIs, sent.Load(), test.aIs, test.bIs)
			}
		})
	}
}
