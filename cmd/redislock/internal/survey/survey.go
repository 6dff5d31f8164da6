// Package survey finds the locks on a server.
//
// It goes through the names of all keys with SCAN, and asks about few of them at a time, so that others hardly notice it.
// What it reads of a key depends on how the key was found:
//
//   - Beside a lock can stand its line, an intent, and its fencing numbers. Their names say beside which key they are,
//     so that key is a lock, or was one.
//   - Behind the prefix of the connection there are locks, if somebody keeps other things out.
//   - Of any other key it reads the TTL, which every lock has; then the type; and then a few bytes, which look
//     like a value of the library or not. A lock whose caller has chosen a token is not found so.
//
// What may be a lock is given to [redislock.Client.Inspect], which has the last word.
package survey

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

const (
	// scanCount is how many keys one SCAN looks at, and so about how many commands a round has in each of its steps. The
	// server does them one after the other: of 1000, others notice that they wait for half a millisecond; see BenchmarkLocks.
	scanCount = 200
	// matchCount is the same where few names match: those that do not are not sent.
	matchCount = 400
	// inspectCount is how many keys are inspected at a time: each is a script.
	inspectCount = 20
	// mostForeign is how many foreign keys are told one by one.
	mostForeign = 1000
)

// A Query is which locks are looked for.
type Query struct {
	Pattern string // a glob, as of SCAN, that their keys match behind the prefix; empty: all. Without wildcards it is one key, and nothing else is looked at.
	// Progress is told how many keys of the server were looked at, and how many there are, 0 if that is not known; nil:
	// nobody is told.
	Progress func(done, all int64)
	// Foreign asks for the keys, too, that hold something that is no lock, mostForeign at most; it is for a Pattern or a
	// prefix that says that all should be locks.
	Foreign bool
	Notes   *Notes // gets what else there is to say; nil: it is not kept
}

// Locks finds every key that is locked or waited for, or has an intent, and calls found with a few at a time, each once. It
// reads with SCAN, so what changes meanwhile may be missed. If it returns an error, what it has found until then is true all
// the same; in a Cluster it goes on with the other masters.
func Locks(ctx context.Context, conn *cli.Conn, q Query, found func([]redislock.KeyState) error) error {
	client := conn.Client()
	if _, err := client.Inspect(ctx, nil); err != nil {
		return err // a prefix that is none, for example; nothing was sent
	}
	s := &survey{
		conn: conn, client: client, query: q, notes: cmp.Or(q.Notes, new(Notes)), found: found,
		seen: map[string]bool{}, moving: map[uint16]bool{}, incomplete: map[string]bool{},
	}
	if key, ok := literal(q.Pattern); ok && key != "" {
		return s.report(ctx, []string{key})
	}
	s.match, s.count = match(conn.Prefix, q.Pattern), scanCount
	if s.match != "" {
		s.count = matchCount
	}
	counted := s.eachMaster(ctx, s.size)
	return cmp.Or(s.eachMaster(ctx, s.scan), counted)
}

// A survey is one call of Locks.
type survey struct {
	conn       *cli.Conn
	client     *redislock.Client
	query      Query
	match      string // what SCAN is asked for
	count      int64  // its COUNT
	notes      *Notes
	all        int64 // keys on all servers
	found      func([]redislock.KeyState) error
	seen       map[string]bool // keys that were found
	isOver     bool            // whoever is told wants no more
	moving     map[uint16]bool // slots of the Cluster that move from one master to another
	strange    int             // foreign keys that were found
	incomplete map[string]bool // keys about which not all is known because of that
}

// match is what SCAN is asked for: a little more than is looked for, because the names of what stands beside a key
// have the name of the key inside. It is empty for all.
func match(prefix, pattern string) string {
	if prefix == "" && pattern == "" {
		return ""
	}
	if strings.ContainsAny(pattern, `[\`) {
		pattern = "" // what follows would be a part of it, if it has no end
	}
	return "*" + rights.Escaped(prefix) + pattern + "*"
}

// eachMaster calls fn for each server, also if it fails for one of them, unless the survey is to end. It returns the first
// error.
func (s *survey) eachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	var first error
	err := s.conn.EachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		err := fn(ctx, one)
		if s.isOver || ctx.Err() != nil {
			return err
		}
		first = cmp.Or(first, err)
		return nil
	})
	return cmp.Or(err, first)
}

// size asks how many keys there are. Somebody who may not ask sees no more than how many were looked at.
func (s *survey) size(ctx context.Context, one *redis.Client) error {
	n, err := one.DBSize(ctx).Result()
	if err != nil && !redis.IsPermissionError(err) {
		return fmt.Errorf("count the keys: %w", err)
	}
	s.all += n
	return nil
}

// report inspects keys, and hands over those that are locked or waited for, each once.
func (s *survey) report(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, inspectCount) {
		states, err := s.inspect(ctx, some)
		if err != nil {
			return err
		}
		var locked []redislock.KeyState
		for _, state := range states {
			isWanted := isLock(state) || s.query.Foreign && state.Mode == redislock.ModeForeign
			if isWanted && !s.seen[state.Key] {
				s.seen[state.Key] = true
				locked = append(locked, state)
			}
		}
		if len(locked) > 0 {
			if err := s.found(locked); err != nil {
				s.isOver = true
				return err
			}
		}
	}
	return nil
}

// isLock reports whether a key is held, left, or waited for.
func isLock(s redislock.KeyState) bool {
	return s.Mode == redislock.ModeWrite || len(s.Holders) > 0 || len(s.Line) > 0 || s.Intent != nil
}

// Begin finds the keys that begin with a text and are locked or waited for, as far as it gets before ctx ends.
func Begin(ctx context.Context, conn *cli.Conn, text string) (keys []string) {
	states, _ := All(ctx, conn, Query{Pattern: rights.Escaped(text) + "*"}, io.Discard)
	for _, s := range states {
		keys = append(keys, s.Key)
	}
	return keys
}
