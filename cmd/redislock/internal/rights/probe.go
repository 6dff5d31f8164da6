package rights

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/slot"
)

// patience is how long an answer about a channel may take.
const patience = 5 * time.Second

// An inquiry asks one server.
type inquiry struct {
	lock, beside, channel string            // names that nobody has
	patterns              map[string]string // of the names of keys, by those that are asked for
	report                Report
}

// On asks one server, which may be a node of a Cluster, about the user of the client. It changes nothing there. The server may be
// a replica.
func On(ctx context.Context, one *redis.Client, prefix string, isNode bool) (Report, error) {
	lock := prefix + "redislock-probe-" + strings.ToLower(rand.Text())
	q := &inquiry{lock: lock, beside: slot.Beside("probe", lock), channel: "redislock:wake:{" + slot.InBraces(lock) + "}:probe"}
	text := Escaped(prefix) + "*"
	q.patterns = map[string]string{lock: text}
	forms := map[byte]string{':': "redislock:*:{", '=': "redislock:*=", '~': "redislock:*~{*}"}
	for _, lock := range []string{lock, prefix + "{probe}", prefix + "}"} { // which has each form
		name := slot.Beside("probe", lock)
		q.patterns[name] = forms[name[len("redislock:probe")]] + text
	}
	asked, err := q.ask(ctx, one, isNode)
	if err != nil {
		return Report{}, err
	}
	for _, a := range asked {
		if err := q.note(a); err != nil {
			return Report{}, err
		}
	}
	slices.SortStableFunc(q.report.Missing, byRank)
	return q.report, nil
}

// An answer is what the server has said to one command, or to the use of a key.
type answer struct {
	command string
	key     string // that it used; empty if none
	err     error
}

// ask sends everything: what returns an answer in one pipeline, and subscriptions by themselves.
func (q *inquiry) ask(ctx context.Context, one *redis.Client, isNode bool) ([]answer, error) {
	var asked []answer
	pipe := one.Pipeline()
	send := func(command, key string, args ...any) {
		pipe.Do(ctx, args...)
		asked = append(asked, answer{command: command, key: key})
	}
	for _, name := range slices.Sorted(maps.Keys(q.patterns)) { // to read and to write
		send("get", name, "get", name)
		send("set", name, "set", name, "value", "xx")
	}
	var channels []string
	for _, n := range needs {
		switch {
		case n.onCluster && !isNode:
		case strings.HasSuffix(n.command, "subscribe"):
			channels = append(channels, n.command)
		default:
			send(n.command, q.beside, q.args(n)...)
		}
	}
	cmds, err := pipe.Exec(ctx)
	if err != nil && !isAnswer(err) {
		return nil, err
	}
	for i := range asked {
		asked[i].err = cmds[i].Err()
	}
	for _, command := range channels {
		asked = append(asked, answer{command: command, err: q.subscribe(ctx, one, command)})
	}
	return asked, nil
}

// args are the words of a command with the names in their places.
func (q *inquiry) args(n need) []any {
	var args []any
	for _, word := range strings.Split(n.command, "|") {
		args = append(args, word)
	}
	for _, word := range n.probe {
		switch word {
		case "$beside":
			word = q.beside
		case "$channel":
			word = q.channel
		}
		args = append(args, word)
	}
	return args
}

// subscribe sends a command of pub/sub by a connection of its own, and returns the error with which it was answered.
func (q *inquiry) subscribe(ctx context.Context, one *redis.Client, command string) error {
	p := one.Subscribe(ctx)
	defer p.Close() //nolint:errcheck // nothing hangs on it
	send := map[string]func(context.Context, ...string) error{
		"subscribe": p.Subscribe, "unsubscribe": p.Unsubscribe, "ssubscribe": p.SSubscribe, "sunsubscribe": p.SUnsubscribe,
	}[command]
	if err := send(ctx, q.channel); err != nil {
		return err
	}
	_, err := p.ReceiveTimeout(ctx, patience)
	return err
}

// note enters an answer into the report. What is no answer of a server that looks at rights is an error.
func (q *inquiry) note(a answer) error {
	refusal := refusalOf(a.err)
	command := RefusedCommand(refusal)
	switch {
	case a.err == nil || errors.Is(a.err, redis.Nil):
	case !isAnswer(a.err):
		return a.err
	case refusal == "":
		if isUnknown(a.err) {
			q.report.Unknown = append(q.report.Unknown, a.command)
		}
	case command != "":
		if strings.HasPrefix(a.command, command+"|") { // Redis 6.2 names the command alone
			command = a.command
		}
		q.add(Missing{Command: command, For: purposeOf(command), Rule: "+" + command})
	case strings.Contains(refusal, "channel"):
		q.addPattern("&redislock:*", queue+", WithBreakNotices")
	case a.key == q.lock:
		q.addPattern("~"+q.patterns[a.key], everyLock)
	case q.patterns[q.lock] != "*": // without a prefix the user lacks the names of locks, and that is said
		q.addPattern("~"+q.patterns[a.key], "everything that is stored beside locks: intents, lines, guards, fencing numbers")
	}
	return nil
}

func (q *inquiry) addPattern(pattern, purpose string) {
	q.add(Missing{Pattern: pattern, For: purpose, Rule: pattern})
}

func (q *inquiry) add(m Missing) {
	if !slices.Contains(q.report.Missing, m) {
		q.report.Missing = append(q.report.Missing, m)
	}
}

// Escaped makes a pattern that matches this text alone: in a pattern some characters mean something.
func Escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}

// refusalOf is what a NOPERM says; empty if the error is none. Redis and Valkey say "no permissions to run the 'get' command", "to
// access one of the keys used as arguments" or "a key", and the same of channels.
func refusalOf(err error) string {
	if err == nil || !isAnswer(err) {
		return ""
	}
	_, text, _ := strings.Cut(err.Error(), "NOPERM ")
	return text
}

// RefusedCommand is the command that the user may not run, if a refusal names one.
func RefusedCommand(refusal string) string {
	_, command, _ := strings.Cut(refusal, "run the '")
	command, _, _ = strings.Cut(command, "'")
	return strings.ToLower(command)
}

// isAnswer reports whether a server has said it, one that lets us in.
func isAnswer(err error) bool {
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return false
	}
	return !strings.HasPrefix(err.Error(), "NOAUTH ") && !strings.HasPrefix(err.Error(), "WRONGPASS ")
}

// isUnknown reports whether the server says that there is no such command. Some services and proxies have words of their
// own for what they do not pass on, and not all of them begin with a code.
func isUnknown(err error) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc([]string{
		"unknown command", "unknown subcommand", "unsupported", "not support", "not allowed", "not permitted", "not available",
	}, func(s string) bool { return strings.Contains(text, s) })
}
