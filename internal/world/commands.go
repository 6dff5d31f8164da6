package world

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
)

// Commands are the commands that scripts have run: the name of each, and how often.
type Commands map[string]int

// Total is how many they are.
func (c Commands) Total() (n int) {
	for _, calls := range c {
		n += calls
	}
	return n
}

// And returns these and the others together.
func (c Commands) And(others Commands) Commands {
	all := maps.Clone(c)
	for name, calls := range others {
		all[name] += calls
	}
	return all
}

// String names the commands, the most frequent first.
func (c Commands) String() string {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if c[a] != c[b] {
			return c[b] - c[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, c[name])
	}
	return strings.Join(names, ", ")
}

var commandCalls = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// Calls returns how often commands were called since the statistics of a server were begun anew, by clients and by scripts.
func Calls(t *testing.T, rdb *redis.Client) Commands {
	t.Helper()
	all := make(Commands)
	info := check.Must[string](t)(rdb.Info(t.Context(), "commandstats").Result())
	for _, call := range commandCalls.FindAllStringSubmatch(info, -1) {
		all[call[1]] += check.Must[int](t)(strconv.Atoi(call[2]))
	}
	return all
}

// ScriptCommands returns what scripts have run on a server since its statistics were begun anew (CONFIG RESETSTAT). It
// leaves out what clients send by themselves, as far as no script of ours runs that: how they introduce themselves, run
// scripts, and subscribe.
func ScriptCommands(t *testing.T, rdb *redis.Client) Commands {
	t.Helper()
	commands := make(Commands)
	for call, n := range Calls(t, rdb) {
		switch name, _, _ := strings.Cut(call, "|"); name {
		case "eval", "evalsha", "script", "config", "info", "hello", "auth", "client", "select", "ping", "pubsub",
			"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe":
		default:
			commands[name] += n
		}
	}
	return commands
}
