package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
)

// The environment variables that say which server is meant, and what keys begin with. Two are those of other programs: the
// URL that hosts of programs set, and the password of redis-cli.
const (
	RedisVariable  = "REDISLOCK_REDIS"
	PrefixVariable = "REDISLOCK_PREFIX"
	redisURL       = "REDIS_URL"
	authVariable   = "REDISCLI_AUTH"
)

// DefaultRedis is the server if nothing else is said, as with redis-cli.
const DefaultRedis = "redis://127.0.0.1:6379"

// Reachable is how long a server may take to answer for the first time, or when it is asked whether it is there. Tests are
// more patient, because they run on busy machines.
var Reachable = 3 * time.Second

// A Redis is which server is meant, and what all its keys begin with: the flags --redis and --prefix.
type Redis struct {
	URL       string
	Prefix    string
	flags     *pflag.FlagSet // that were declared; nil: none
	own       bool           // no variable of other programs counts
	otherwise string         // what is used if neither a flag nor a variable of this tool names a server
}

// Define declares the flags.
func (r *Redis) Define(flags *pflag.FlagSet) {
	r.DefineURL(flags, "$"+redisURL+", else "+DefaultRedis)
	r.DefinePrefix(flags)
	r.own = false
}

// DefinePrefix declares the flag for what keys begin with.
func (r *Redis) DefinePrefix(flags *pflag.FlagSet) {
	flags.StringVar(&r.Prefix, "prefix", os.Getenv(PrefixVariable),
		"what the `name` of every lock key begins with in Redis, as with WithKeyPrefix; keys are given and shown without it (default $"+
			PrefixVariable+")")
	flags.Lookup("prefix").DefValue = ""
}

// DefineURL declares the flag for the server alone, for a command that does not take the server of other programs;
// otherwise says what is used without one.
func (r *Redis) DefineURL(flags *pflag.FlagSet, otherwise string) {
	r.flags, r.own, r.otherwise = flags, true, otherwise
	flags.StringVar(&r.URL, "redis", "",
		"the `url` of the server, such as host:6379, redis://user:password@host:6379/0 or unix:///path/to/socket; rediss:// is with TLS, "+
			"redis://host:26379?master_name=main by a Sentinel; of a Cluster it is that of one node (default $"+RedisVariable+", else "+otherwise+")")
}

// Given returns the URL of the flag or of the environment, empty if there is none.
func (r *Redis) Given() string {
	given := cmp.Or(r.URL, os.Getenv(RedisVariable))
	if given == "" && !r.own {
		given = os.Getenv(redisURL)
	}
	return given
}

// isEmpty reports whether the flag was written, and has nothing in it: a variable of a script that was not set.
func (r *Redis) isEmpty() bool { return r.URL == "" && r.flags != nil && r.flags.Changed("redis") }

// Propose is a command line of the tool that names the same server and the same keys, with more behind it. Both are as the user has
// written them, but for passwords, and are left out if the environment says it all.
func (r *Redis) Propose(command string, more ...string) string {
	words := []string{"redislock", command}
	if r.URL != "" {
		words = append(words, "--redis", Quote(redacted(r.URL)))
	}
	if r.flags != nil && r.flags.Changed("prefix") {
		words = append(words, "--prefix", Quote(r.Prefix))
	}
	return strings.Join(append(words, more...), " ")
}

// A Conn is a connection to a server, a Cluster, or what Sentinels look after.
type Conn struct {
	RDB      redis.UniversalClient
	Name     string                 // for people, without what the URL has of a password
	Prefix   string                 // of every lock key
	IsMini   bool                   // it is a server inside the program
	Sentinel *redis.FailoverOptions // with which Sentinels are asked; nil: none is
	user     string                 // of the url; empty: the default one
	single   *redis.Options         // of one server that was named by itself, else nil
	isNode   bool                   // it is one node of a Cluster, and the others cannot be had
	mini     *miniredis.Miniredis   // the server inside the program
}

// Open connects to the server and waits for a sign of life. If it is a node of a Cluster the connection is to all of that.
// Close ends the connection. An error says what is wrong, and has the exit status for it.
func (r *Redis) Open(ctx context.Context) (*Conn, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return nil, Explain(ctx, err)
	}
	return conn, nil
}

// dial is Open, with an error as it came.
func (r *Redis) dial(ctx context.Context) (*Conn, error) {
	if r.isEmpty() {
		return nil, Usagef("--redis is empty; without it the server is $%s, else %s", RedisVariable, r.otherwise)
	}
	conn, err := parseURL(cmp.Or(r.Given(), DefaultRedis))
	if err != nil {
		return nil, err
	}
	conn.Prefix = r.Prefix
	last := lastOf(ctx)
	last.Store(&used{*r, conn.Name})
	ctx, cancel := context.WithTimeoutCause(ctx, Reachable, fmt.Errorf("%w within %s", errSilent, Reachable))
	defer cancel()
	err = conn.ping(ctx)
	if err == nil {
		err = conn.recognise(ctx)
	}
	if err != nil {
		// Nothing was done that could be lost. Close may wait for what a Sentinel does not answer.
		go func() { _ = conn.Close() }()
		return nil, err
	}
	last.Store(&used{*r, conn.Name})
	return conn, nil
}

// Embed starts a server inside the program, on a port of the loopback.
func Embed() (*Conn, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true) // otherwise a time-to-live would stand still
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	return &Conn{RDB: rdb, Name: "a miniredis inside the program", IsMini: true, mini: mini}, nil
}

// OpenOrEmbed is Open if a server is named, and Embed if none is.
func (r *Redis) OpenOrEmbed(ctx context.Context) (*Conn, error) {
	if r.Given() == "" && !r.isEmpty() {
		return Embed()
	}
	return r.Open(ctx)
}

// OwnPrefix returns what the keys of one run of a command can begin with, which nobody else uses.
func OwnPrefix(command string) string {
	return "redislock-" + command + "-" + strings.ToLower(rand.Text()[:8]) + ":"
}

// errSilent is why nobody waits for a server any longer.
var errSilent = errors.New("no answer")

// ping asks for a sign of life. A server that refuses to say PONG to this user is alive, too.
func (c *Conn) ping(ctx context.Context) error {
	_, err := Await(ctx, func() (string, error) {
		if cluster, ok := c.RDB.(*redis.ClusterClient); ok {
			return "", loadSlots(ctx, cluster)
		}
		pong, err := c.RDB.Ping(ctx).Result()
		if redis.HasErrorPrefix(err, "NOPERM") {
			return "", nil
		}
		return pong, err
	})
	return err
}

// Await calls something that waits for a server or for somebody. If ctx ends it is not waited for any more, whatever the time-outs
// of the connection are; then the error is why ctx has ended.
func Await[T any](ctx context.Context, ask func() (T, error)) (answer T, err error) {
	type outcome struct {
		answer T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		answer, err := ask()
		done <- outcome{answer, err}
	}()
	select {
	case of := <-done:
		return of.answer, of.err
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}

// Client makes a client of the library with the prefix of the connection.
func (c *Conn) Client(opts ...redislock.ClientOption) *redislock.Client {
	if c.Prefix != "" {
		opts = append([]redislock.ClientOption{redislock.WithKeyPrefix(c.Prefix)}, opts...)
	}
	return redislock.New(c.RDB, opts...)
}

// Cut warns if the prefix ends within a word: then it is not all of what keys begin with, and they are shown without a
// part of their name. It is empty, or a line.
func (c *Conn) Cut(key string) string {
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	before, _ := utf8.DecodeLastRuneInString(c.Prefix)
	behind, _ := utf8.DecodeRuneInString(key)
	if !letter(before) || !letter(behind) {
		return ""
	}
	return fmt.Sprintf("the prefix %s ends within a word: in Redis, the first key is %s\n", Text(c.Prefix), Text(c.Prefix+key))
}

// EachMaster calls fn for each server that has keys of its own: the one server, or every master of a Cluster, one
// call after the other.
func (c *Conn) EachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	switch rdb := c.RDB.(type) {
	case *redis.Client:
		return fn(ctx, rdb)
	case *redis.ClusterClient:
		var mu sync.Mutex
		failed := false // then the others need not begin
		return rdb.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			if failed || ctx.Err() != nil {
				return context.Cause(ctx)
			}
			err := fn(ctx, one)
			failed = err != nil
			return err
		})
	default:
		return fmt.Errorf("unexpected client %T", rdb)
	}
}

// Close ends the connection, and the server if it is inside the program.
func (c *Conn) Close() error {
	err := c.RDB.Close()
	if c.mini != nil {
		c.mini.Close()
	}
	return err
}
