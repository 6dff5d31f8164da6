package main

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What a command does with a server.
type use int

const (
	nothing use = iota
	reads       // it looks at locks
	writes      // it takes or breaks locks
	plays       // it takes locks on keys of its own, which nobody has
	judges      // it looks at the server, and may say what is wrong with that as its result
)

// The keys that the samples name: one is held, the other is no lock.
const (
	heldKey    = "situations:held"
	foreignKey = "situations:foreign"
)

// A sample is how a command is called in every situation. KEY stands for a key.
type sample struct {
	use  use
	args []string
}

// samples has every command that users call.
var samples = map[string]sample{
	"run":     {writes, []string{"--no-wait", "KEY", "--", "true"}},
	"ls":      {reads, nil},
	"show":    {reads, []string{"KEY"}},
	"tree":    {reads, nil},
	"watch":   {reads, []string{"--count", "1", "--every", "100ms"}},
	"break":   {writes, []string{"--yes", "KEY"}},
	"wait":    {reads, []string{"--wait", "1s", "KEY"}},
	"tune":    {plays, []string{"--hold", "1ms", "--workers", "2", "--for", "1s"}},
	"doctor":  {judges, nil},
	"demo":    {plays, []string{"--quick", "conflict"}},
	"version": {nothing, nil},
	"man":     {nothing, nil},
}

// A situation is what may be wrong with a server.
type situation struct {
	name  string
	start func(t *testing.T) (url string)
	key   string
	want  map[use][]int // the exit statuses that a command may have then; a use that is not there is not tried
	says  string        // on standard error, if the first of them is the status; empty: the connection may end before it is said
}

// always is the wish that whatever a command does with a server, it ends with this status.
func always(status int) map[use][]int {
	return map[use][]int{reads: {status}, writes: {status}, plays: {status}, judges: {status}}
}

// noAnswer is what is said when nobody answers, who is waited for no longer than usual.
const noAnswer = "no answer within 3s"

var situations = []situation{
	{"unreachable", func(*testing.T) string { return "redis://127.0.0.1:1" }, heldKey, always(cli.Unavailable), "cannot use 127.0.0.1:1, database 0: dial"},
	{"silent", startSilent, heldKey, always(cli.Unavailable), noAnswer},
	{"loading", startLoading, heldKey, always(cli.Unavailable), "the server is loading its data: LOADING"},
	{"full of clients", startFull, heldKey, always(cli.Unavailable), ""},
	{"wants a password", startLocked, heldKey, always(cli.Refused), "the server wants a password: NOAUTH"},
	{"wrong password", startMistyped, heldKey, always(cli.Refused), "the server does not take this user with this password: WRONGPASS"},
	{"few rights", startFewRights, heldKey, map[use][]int{
		reads: {cli.Refused}, writes: {cli.Refused}, plays: {cli.Refused}, judges: {cli.Refused, cli.Failed},
	}, "ACL SETUSER app "},
	{"Cluster without slots", startSlotless, heldKey, map[use][]int{reads: {cli.Unavailable}, writes: {cli.Unavailable}, plays: {cli.Unavailable}, judges: {cli.Unavailable, cli.Failed}}, "Cluster"},
	{"replica", startReplica, heldKey, map[use][]int{
		// Whether a key is held can be said without writing.
		reads: {cli.Unavailable, 0, cli.NotObtained}, writes: {cli.Unavailable, cli.NotObtained}, plays: {cli.Unavailable}, judges: {cli.Unavailable, 0, cli.Failed},
	}, "is a replica"},
	{"out of memory", startOOM, heldKey, map[use][]int{
		reads: {cli.Unavailable, 0, cli.NotObtained}, writes: {cli.Unavailable, 0, cli.NotObtained}, plays: {cli.Unavailable}, judges: {cli.Unavailable, cli.Failed},
	}, "is out of memory (maxmemory): "},
	{"no lock", startForeign, foreignKey, map[use][]int{
		reads: {cli.NoLock, 0}, writes: {cli.NoLock},
	}, "that is no lock"},
}

// Whatever is wrong, every command ends with its exit status and says it in words.
func TestSituations(t *testing.T) {
	t.Parallel()
	for _, c := range tool().Commands {
		if _, ok := samples[c.Name]; !ok && !c.Hidden {
			t.Errorf("no sample of %s", c.Name)
		}
	}
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url := s.start(t)
			for _, c := range tool().Commands {
				names := slices.Contains(samples[c.Name].args, "KEY")
				if want := s.want[samples[c.Name].use]; want != nil && (names || s.key == heldKey) {
					t.Run(c.Name, func(t *testing.T) {
						t.Parallel()
						s.test(t, c.Name, url, want)
					})
				}
			}
		})
	}
}

func (s situation) test(t *testing.T, command, url string, want []int) {
	t.Helper()
	args := []string{command}
	for _, arg := range samples[command].args {
		args = append(args, strings.ReplaceAll(arg, "KEY", s.key))
	}
	p := newProcess(t, args...)
	p.Env = append(p.Env, cli.RedisVariable+"="+url)
	if s.says == noAnswer {
		p.Env = append(p.Env, asTool+"="+hasty)
	}
	status := p.start(t).status(t)
	stdout, stderr := p.stdout.String(), p.stderr.String()
	if !slices.Contains(want, status) {
		t.Errorf("exit status %d, want one of %v\n%s%s", status, want, stdout, stderr)
	}
	if status != 0 && status == want[0] && (!strings.Contains(stderr, s.says) || !strings.Contains("\n"+stderr, "\nredislock "+command+": ")) {
		t.Errorf("stderr is %q, want %q in it", stderr, s.says)
	}
	if strings.Contains(stdout+stderr, "hush") {
		t.Errorf("the password is in %q", stdout+stderr)
	}
}

// startSilent listens and says nothing.
func startSilent(t *testing.T) string {
	t.Helper()
	listener := check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	return "redis://" + listener.Addr().String()
}

// startLoading answers as a server that loads, whatever it is asked. A real one loads for too short a time.
func startLoading(t *testing.T) string {
	t.Helper()
	listener := check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); { // "*n" begins a command
					if strings.HasPrefix(lines.Text(), "*") {
						_, _ = fmt.Fprint(conn, "-LOADING Redis is loading the dataset in memory\r\n")
					}
				}
			}()
		}
	}()
	return "redis://" + listener.Addr().String()
}

func startFull(t *testing.T) string {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	check.NoError(t, server.Client(t).ConfigSet(t.Context(), "maxclients", "1").Err())
	return "redis://" + server.Addr()
}

func startLocked(t *testing.T) string {
	t.Helper()
	return "redis://" + redistest.Start(t, redistest.Redis, "--requirepass", "hush").Addr()
}

func startMistyped(t *testing.T) string {
	t.Helper()
	return strings.Replace(startLocked(t), "//", "//:wrong@", 1)
}

func startSlotless(t *testing.T) string {
	t.Helper()
	return "redis://" + redistest.Start(t, redistest.Redis, "--cluster-enabled", "yes").Addr()
}

// startHolding starts a server with a key that is held, and returns it with a client.
func startHolding(t *testing.T) (*redistest.Server, *redis.Client) {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{heldKey}, time.Hour, nil))
	return server, rdb
}

func startFewRights(t *testing.T) string {
	t.Helper()
	server, rdb := startHolding(t)
	check.NoError(t, rdb.Do(t.Context(), "acl", "setuser", "app", "on", ">hush", "~*", "-@all", "+ping", "+get").Err())
	return "redis://app:hush@" + server.Addr()
}

func startReplica(t *testing.T) string {
	t.Helper()
	primary, _ := startHolding(t)
	replica := redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1 "+fmt.Sprint(primary.Port()))
	rdb := replica.Client(t)
	check.Eventually(t, time.Minute, "the replica has the key", func() bool { return rdb.Exists(t.Context(), heldKey).Val() == 1 })
	return "redis://" + replica.Addr()
}

func startOOM(t *testing.T) string {
	t.Helper()
	server, rdb := startHolding(t)
	check.NoError(t, rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
	return "redis://" + server.Addr()
}

func startForeign(t *testing.T) string {
	t.Helper()
	server, rdb := startHolding(t)
	check.NoError(t, rdb.Set(t.Context(), foreignKey, "17", 0).Err())
	return "redis://" + server.Addr()
}
