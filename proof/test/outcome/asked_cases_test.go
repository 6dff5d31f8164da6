package outcome_test

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/world"
)

var (
	writesA = redislock.Set{Write: []string{"a"}}
	readsA  = redislock.Set{Read: []string{"a"}}
	mixed   = redislock.Set{Write: []string{"a"}, Read: []string{"b"}}

	eachSecond = redislock.LinearBackoff(time.Second)
)

func candidate(is bool) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context {
		return inctx.Candidate(redislock.WithCaller(ctx, "me"), is)
	}
}

// obtainsThatAsk are Obtains of all kinds.
func obtainsThatAsk() map[string]asks {
	upFor := []redislock.ClientOption{redislock.WithMinUptime(time.Minute), redislock.WithMetadata("host")}
	watched := redislock.Options{Watchdog: true}
	all := map[string]asks{
		"uptime":           {client: upFor, set: writesA, want: `0s rw [a]+[] #1|host, ttl 1m0s, uptime 1m0s`},
		"default metadata": {client: upFor[1:], set: mixed, want: `0s rw [a]+[b] #1|host, ttl 1m0s [redislock:intent:{b}]`},
		"fenced": {
			set: mixed, opt: redislock.Options{Fenced: true, Metadata: "m"},
			want: `0s rw [a]+[b] #1|m, ttl 1m0s, fenced [redislock:intent:{b}]`,
		},
		"a candidate": {client: upFor, ctx: candidate(true), set: writesA, opt: watched, want: `
0s rw [a]+[] #1||me=|host|?, ttl 1m0s, uptime 1m0s
0s refresh [a]+[] #1||me=|host|, ttl 1m0s, keeps leases
`},
		"no candidate": {
			client: upFor, ctx: candidate(false), set: writesA, opt: watched,
			want: `0s rw [a]+[] #1||me|host, ttl 1m0s, uptime 1m0s`,
		},
		"a candidate without a watchdog": {
			client: upFor, ctx: candidate(true), set: writesA,
			want: `0s rw [a]+[] #1||me|host, ttl 1m0s, uptime 1m0s`,
		},
		"a candidate whose Client asks servers nothing more": {
			ctx: candidate(true), set: writesA, opt: watched,
			want: `0s obtain [a]+[] #1||me|, ttl 1m0s`,
		},
		"reads, known token": {
			known: true, set: mixed,
			want: `0s rw [a]+[b] #1|, ttl 1m0s, searches, stamp 0 [redislock:intent:{b}]`,
		},
		"writes, known token": {known: true, set: writesA, want: `0s obtain [a]+[] #1|, ttl 1m0s, stamp 0`},
		"reads, fresh token": {
			known: true, fresh: true, set: mixed,
			want: `0s rw [a]+[b] #1|, ttl 1m0s, stamp 0 [redislock:intent:{b}]`,
		},
	}
	maps.Copy(all, refusedThatAsk())
	maps.Copy(all, failedThatAsk())
	maps.Copy(all, slowThatAsk())
	return all
}

// refusedThatAsk are Obtains that are refused, and have declared intents or not.
func refusedThatAsk() map[string]asks {
	held := []string{world.HeldBySomebody, world.HeldBySomebody}
	const (
		refused  = `redislock: "a" is write-locked by a holder that says nothing of itself, 1m00s left`
		waitOver = `redislock: obtain "a": the time of Options.Wait is over after `
		busy     = "-BUSY it is\r\n"
	)
	plain := redislock.Options{RetryStrategy: redislock.LimitRetry(eachSecond, 1)}
	intent := redislock.Options{Intent: true, RetryStrategy: plain.RetryStrategy}
	brief := redislock.Options{RetryStrategy: eachSecond, Wait: 500 * time.Millisecond}
	thrice := redislock.Options{RetryStrategy: redislock.LimitRetry(eachSecond, 2)}
	medium := redislock.Options{RetryStrategy: eachSecond, Wait: 1500 * time.Millisecond}
	briefIntent := brief
	briefIntent.Intent = true
	return map[string]asks{
		"refused": {says: held, set: writesA, opt: plain, err: refused, want: `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s
`},
		"refused, intent": {says: held, set: writesA, opt: intent, err: refused, want: `
0s obtain [a]+[] #1|, ttl 1m0s, intent 2s [redislock:intent:{a}]
1s obtain [a]+[] #1|, ttl 1m0s, intent 0s [redislock:intent:{a}]
`},
		"refused, Wait": {says: held, set: writesA, opt: brief, err: waitOver + "500ms and 1 attempt: " + refused, want: `
0s obtain [a]+[] #1|, ttl 1m0s
`},
		"refused, intent, Wait": {says: held, set: writesA, opt: briefIntent, err: waitOver + "500ms and 1 attempt: " + refused, want: `
0s obtain [a]+[] #1|, ttl 1m0s, intent 2s [redislock:intent:{a}]
500ms release [redislock:intent:{a}]+[] #1|
`},
		"refused, intent of a reader": {says: held, set: readsA, opt: intent, err: refused, want: `
0s rw []+[a] #1|, ttl 1m0s [redislock:intent:{a}]
1s rw []+[a] #1|, ttl 1m0s [redislock:intent:{a}]
`},
		"refused, intent of both": {says: held, set: mixed, opt: intent, err: refused, want: `
0s rw [a]+[b] #1|, ttl 1m0s, intent 2s [redislock:intent:{b} redislock:intent:{a}]
1s rw [a]+[b] #1|, ttl 1m0s, intent 0s [redislock:intent:{b} redislock:intent:{a}]
`},
		"not answered, then refused": {says: []string{unblocked, held[0]}, set: writesA, opt: thrice, want: `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s, closes, stamp 1 closes 1
2s obtain [a]+[] #1|, ttl 1m0s, stamp 1
`},
		"not answered, then refused, intent": {says: []string{unblocked, held[0]}, set: writesA, opt: intent, err: refused, want: `
0s obtain [a]+[] #1|, ttl 1m0s, intent 2s [redislock:intent:{a}]
1s obtain [a]+[] #1|, ttl 1m0s, closes, stamp 1 closes 1, intent 0s [redislock:intent:{a}]
1s release [a]+[] #1|, stamp 1
`},
		"not answered, then refused, reads, known token": {
			known: true, says: []string{unblocked, held[0]}, set: mixed, opt: thrice, want: `
0s rw [a]+[b] #1|, ttl 1m0s, searches, stamp 0 [redislock:intent:{b}]
1s rw [a]+[b] #1|, ttl 1m0s, searches, closes, stamp 1 closes 1 [redislock:intent:{b}]
2s rw [a]+[b] #1|, ttl 1m0s, searches, stamp 1 [redislock:intent:{b}]
`,
		},
		"busy, then refused": {says: []string{busy, held[0]}, set: writesA, opt: thrice, want: `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s
2s obtain [a]+[] #1|, ttl 1m0s
`},
		"busy, then Wait is over": {
			says: []string{busy, busy}, set: writesA, opt: medium,
			err: waitOver + `1.5s and 2 attempts: redislock: obtain "a": BUSY it is`, want: `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s
`,
		},
		"refused, then busy, then Wait is over": {
			says: []string{held[0], busy, busy}, set: writesA, opt: medium,
			err: waitOver + "1.5s and 2 attempts: " + refused + `; then: redislock: obtain "a": BUSY it is`, want: `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s
`,
		},
		"refused, then not answered, then Wait is over": {
			says: []string{held[0], unblocked}, set: writesA, opt: medium,
			err: waitOver + `1.5s and 2 attempts: redislock: obtain "a": outcome not known: UNBLOCKED force unblock`, want: `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s
1.5s release [a]+[] #1|, closes, stamp 1 closes 1
`,
		},
	}
}

const unblocked = "-UNBLOCKED force unblock\r\n" // the script may have been executed

// failedThatAsk are Obtains to which the server answers an error, or something strange.
func failedThatAsk() map[string]asks {
	const nothing, gives, closes = "", "\n0s release SET #1|", "\n0s release SET #1|, closes, stamp 1 closes 1"
	once, twice := redislock.Options{}, redislock.Options{RetryStrategy: redislock.LimitRetry(eachSecond, 1)}
	all := make(map[string]asks)
	for answer, c := range map[string]struct {
		err, then string
		opt       redislock.Options
	}{
		"-CROSSSLOT Keys in request don't hash to the same slot": {"keys are not in one slot (CROSSSLOT Keys in request don't hash to the same slot)", nothing, twice},
		"-NOPERM this user has no permissions to run the 'evalsha' command": {"unsupported operation: this user of Redis may not run scripts, without which there are no locks: " +
			"NOPERM this user has no permissions to run the 'evalsha' command", nothing, twice},
		"-NOPERM this user has no permissions to run the 'set' command script: 1a, on @user_script:7.": {"NOPERM this user has no permissions to run the 'set' command", gives, twice},
		"-ERR something is wrong": {"ERR something is wrong", closes, twice},
		"-WRONGTYPE Operation against a key script: 1a, on @user_script:7.": {"WRONGTYPE Operation against a key", gives, twice},
		"-LOADING Redis is loading":                                         {"LOADING Redis is loading", nothing, once},
		"-UNBLOCKED force unblock":                                          {"outcome not known: UNBLOCKED force unblock", closes, once},
		":9":                                                                {"outcome not known: unexpected reply to SCRIPT: int64", gives, once},
		"+what":                                                             {"outcome not known: unexpected reply to SCRIPT: string", closes, once},
	} {
		says := []string{answer + "\r\n"}
		err := func(names, script string) string {
			return "redislock: obtain " + names + ": " + strings.ReplaceAll(c.err, "SCRIPT", script)
		}
		all[answer] = asks{
			says: says, set: writesA, opt: c.opt, err: err(`"a"`, "obtain"),
			want: "0s obtain [a]+[] #1|, ttl 1m0s" + strings.ReplaceAll(c.then, "SET", "[a]+[]"),
		}
		all[answer+", reads"] = asks{
			says: says, set: mixed, opt: c.opt, err: err(`"a" and 1 more`, "rw"),
			want: "0s rw [a]+[b] #1|, ttl 1m0s [redislock:intent:{b}]" + strings.ReplaceAll(c.then, "SET", "[a b]+[]"),
		}
	}
	return all
}

// slowThatAsk are Obtains after which something takes time, or that replicas may not have.
func slowThatAsk() map[string]asks {
	queue := redislock.Options{Queue: true, RetryStrategy: redislock.LimitRetry(eachSecond, 2)}
	wait := redislock.Options{RetryStrategy: eachSecond, Wait: 1500 * time.Millisecond}
	replicas := []redislock.ClientOption{redislock.WithReplicas(1)}
	const (
		slow = 30 * time.Millisecond
		lost = `redislock: obtain "a": outcome not known: UNBLOCKED force unblock`
		few  = `redislock: obtain "a": the time of Options.Wait is over after 1.5s and 2 attempts: ` +
			`redislock: obtain "a": not obtained: not replicated: 0 of 1 replica acknowledged within 1s`
		clears = `
0s obtain [a]+[] #1|, ttl 1m0s
0s release [a]+[] #1|, closes, stamp 1 closes 1
`
		twice = `
0s obtain [a]+[] #1|, ttl 1m0s
1s obtain [a]+[] #1|, ttl 1m0s
1.5s release [a]+[] #1|
`
	)
	brief := strings.Replace(world.InPlace(5, 1), ":60000", ":1000", 1)
	return map[string]asks{
		"slow clean-up": {says: []string{unblocked}, set: writesA, slow: slow, err: lost, want: clears},
		"slow clean-up in line": {
			says: []string{unblocked}, set: writesA, opt: redislock.Options{Queue: true}, slow: slow,
			stays: true, err: lost, want: clears,
		},
		"slow clean-up behind a place": {
			says: []string{world.HeldBySomebody, brief, "-ERR bad\r\n"}, set: readsA, opt: queue, slow: slow,
			stays: true, err: `redislock: obtain "a": ERR bad`, want: `
0s rw []+[a] #1|, ttl 1m0s [redislock:intent:{a}]
0s rw []+[a] #1|, ttl 1m0s, waits 0s, place 0, possible false, sharded false
1s rw []+[a] #1|, ttl 1m0s, waits 0s, place 7, possible true, sharded false
1s release [a]+[] #1|, closes, stamp 1 closes 1
`,
		},
		"in line, refused for good": {
			says: []string{"-CROSSSLOT no\r\n"}, set: mixed, opt: queue,
			err:  `redislock: obtain "a" and 1 more: keys are not in one slot (CROSSSLOT no)`,
			want: `0s rw [a]+[b] #1|, ttl 1m0s [redislock:intent:{b}]`,
		},
		"no replica":               {client: replicas, set: writesA, opt: wait, err: few, want: twice},
		"refused, then no replica": {client: replicas, says: []string{world.HeldBySomebody}, set: writesA, opt: wait, err: few, want: twice},
		"may not ask replicas": {
			client: replicas, replicas: "-NOPERM no 'wait'\r\n", set: writesA, opt: wait, err: `redislock: obtain "a": NOPERM no 'wait'`, want: `
0s obtain [a]+[] #1|, ttl 1m0s
0s release [a]+[] #1|
`,
		},
	}
}
