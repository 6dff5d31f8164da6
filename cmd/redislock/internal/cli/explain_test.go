package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// An answer is what a server says.
type answer string

func (a answer) Error() string { return string(a) }

func (answer) RedisError() {}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int
		says   string
	}{
		{answer("NOPERM this user has no permissions to run the 'scan' command"), Refused, "refuses this user"},
		{answer("ERR The user executing the script can't run this command or subcommand script: 1f, on @user_script:7."), Refused, "refuses this user"},
		{answer("MASTERDOWN Link with MASTER is down"), Unavailable, "has lost its primary"},
		{answer("MISCONF Errors writing to the AOF file"), Unavailable, "cannot save to its disk"},
		{answer("NOREPLICAS Not enough good replicas to write."), Unavailable, "has too few replicas"},
		{answer("CLUSTERDOWN The cluster is down"), Unavailable, "does not serve all slots"},
		{answer("BUSY Redis is busy running a script."), Unavailable, "SCRIPT KILL ends that"},
		{answer("MOVED 1 127.0.0.1:1"), Unavailable, "the key is on another one"},
		{answer("DENIED Redis is running in protected mode"), Refused, "give it a password"},
		{answer("WRONGTYPE Operation against a key"), NoLock, "no lock"},
		{answer("BUSYKEY Target key name already exists."), Failed, "BUSYKEY"}, // another word
		{answer("ERR syntax error"), Failed, "ERR syntax error"},
		{&redislock.ConflictError{Key: "a", Mode: redislock.ModeForeign, Type: "list"}, NoLock, "holds a list that is no lock"},
		{&redislock.ConflictError{Key: "a", Mode: redislock.ModeWrite}, NotObtained, "is write-locked"},
		{redislock.ErrLockLost, Lost, "lock lost"},
		{&redislock.InvalidError{Argument: "keys"}, Usage, "invalid keys"},
		{fmt.Errorf("%w: %w", redislock.ErrUnknownOutcome, io.EOF), Unavailable, "cannot use"},
		{redis.ErrPoolTimeout, Unavailable, "cannot use"},
		{&fs.PathError{Op: "open", Path: "f", Err: syscall.ENOENT}, Failed, "open f"},
		{errors.New("something else"), Failed, "something else"},
		{Exit(Lost, io.EOF), Lost, "EOF"},
	} {
		for _, err := range []error{tt.err, fmt.Errorf("ask: %w", tt.err)} {
			got := Explain(t.Context(), err)
			if statusOf(got) != tt.status || !strings.Contains(got.Error(), tt.says) {
				t.Errorf("%v: status %d, want %d, and %q in %q", err, statusOf(got), tt.status, tt.says, got)
			}
			if !errors.Is(got, tt.err) && tt.status != Usage {
				t.Errorf("%v: it is not wrapped", err)
			}
		}
	}
	if Explain(t.Context(), nil) != nil {
		t.Error("no error is explained")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Explain(ctx, io.EOF); got != io.EOF { //nolint:errorlint // it stays as it is
		t.Errorf("an interrupted command is explained: %v", got)
	}
}
