package world

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
)

// Commands are what a server has executed, for clients and for scripts: the name of each command, and how often. What one
// client has sent is counted by check.Count.
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

// Scripts is how many scripts were run.
func (c Commands) Scripts() int { return c["eval"] + c["evalsha"] + c["eval_ro"] + c["evalsha_ro"] }

// InScripts are the commands of scripts. It leaves out commands that clients send themselves and no script runs: to
// introduce themselves, run scripts, and subscribe.
func (c Commands) InScripts() Commands {
	commands := make(Commands)
	for call, n := range c {
		switch name, _, _ := strings.Cut(call, "|"); name {
		case "eval", "evalsha", "script", "config", "info", "hello", "auth", "client", "select", "ping", "pubsub",
			"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe":
		default:
			commands[name] += n
		}
	}
	return commands
}

// Counted returns what a server has executed while fn ran. It begins the statistics of the server anew.
func Counted(t *testing.T, rdb *redis.Client, fn func()) Commands {
	t.Helper()
	check.NoError(t, rdb.ConfigResetStat(t.Context()).Err())
	fn()
	return Calls(t, rdb)
}

// Calls returns what a server has executed since its statistics were begun anew.
func Calls(t *testing.T, rdb *redis.Client) Commands {
	t.Helper()
	all := make(Commands)
	for name, stats := range check.Must[map[string]map[string]string](t)(rdb.InfoMap(t.Context(), "commandstats").Result())["Commandstats"] {
		calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
		all[strings.TrimPrefix(name, "cmdstat_")] = check.Must[int](t)(strconv.Atoi(calls))
	}
	return all
}

// Info returns a number that INFO says, and 0 if it does not say it.
func Info(t *testing.T, rdb *redis.Client, section, name string) (n int) {
	t.Helper()
	if text := check.Must[map[string]map[string]string](t)(rdb.InfoMap(t.Context(), section).Result())[section][name]; text != "" {
		n = check.Must[int](t)(strconv.Atoi(text))
	}
	return n
}
