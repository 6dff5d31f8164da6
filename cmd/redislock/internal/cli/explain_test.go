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
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
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

// What is granted as the message says is enough.
func TestExplainGrants(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	check.NoError(t, rdb.Do(t.Context(), "acl", "setuser", "app", "on", ">hush", "~lock:*", "-@all", "+get").Err())
	ctx := withSession(t.Context())
	conn, err := (&Redis{URL: "redis://app:hush@" + rdb.Options().Addr, Prefix: "lock:"}).Open(ctx)
	check.NoError(t, err)
	client := conn.Client()
	_, err = client.Obtain(ctx, []string{"a"}, longTTL, nil)
	client.Close()
	check.NoError(t, conn.Close()) // as commands do, before the error is explained
	text := Explain(ctx, err).Error()
	_, line, ok := strings.Cut(text, "ACL SETUSER ")
	if !ok || statusOf(Explain(ctx, err)) != Refused {
		t.Fatalf("nothing is granted: %s", text)
	}
	args := []any{"acl", "setuser"}
	for word := range strings.FieldsSeq(line) {
		args = append(args, word)
	}
	check.NoError(t, rdb.Do(t.Context(), args...).Err())
	conn = open(t, "redis://app:hush@"+rdb.Options().Addr)
	client = conn.Client()
	defer client.Close()
	for _, opt := range []*redislock.Options{nil, {Queue: true}, {Fenced: true}} {
		lock, err := client.Obtain(t.Context(), []string{"a"}, longTTL, opt)
		check.NoError(t, err)
		check.NoError(t, lock.Release(t.Context()))
	}
}

func TestRuleOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"NOPERM this user has no permissions to run the 'scan' command":                      "+scan",
		"NOPERM this user has no permissions to run the 'cluster' command or its subcommand": "+cluster",
		"NOPERM User app has no permissions to run the 'cluster|slots' command":              "+cluster|slots",
		"NOPERM this user has no permissions to access one of the keys used as arguments":    "",
		"ERR The user executing the script can't run this command or subcommand":             "",
	} {
		if got := ruleOf(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
