// Package run is the command that runs another command under a lock.
//
// Two processes take part. The first is redislock run itself: it obtains the lock, renews it, and releases it. It starts
// the second, the supervisor, which starts the command in a process group of its own and ends that group when the lease is
// about to end, or when redislock is gone. The two talk over two pipes.
package run

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

const (
	defaultTTL   = 30 * time.Second
	leastTTL     = time.Second // a process has to start within a part of it
	mostTime     = 365 * 24 * time.Hour
	defaultGrace = 10 * time.Second
	// largeSet is up to how many keys can be fenced, read, or waited for in line.
	largeSet = 2500
	mostKeys = 10000
)

// settings are what the command line says.
type settings struct {
	redis   cli.Redis
	ttl     time.Duration
	wait    time.Duration // 0: without end
	once    bool
	busy    int // the exit status if the lock was not to be had
	read    bool
	atLeast time.Duration
	grace   time.Duration
	name    string
	noFence bool
	noRedis bool
	json    *bool

	keys    []string
	command []string
	path    string // of the command
}

// Command is redislock run.
func Command() cli.Command {
	return cli.Command{
		Name:    "run",
		Args:    "[flags] KEY... -- COMMAND [ARG...]",
		Summary: "run a command under the locks of all keys",
		Help: `It waits in line until all keys are free, locks them, runs the command, and
frees them when every process of the command's group has ended. The lock is
renewed until then. Standard input and output, the terminal, signals and the
exit status are those of the command.

The command finds in its environment
  REDISLOCK_FENCE  the fencing number of the lock, for the resource
  REDISLOCK_KEYS   the keys, separated by spaces; one that has other characters
                   than letters, digits and @%+=:,./_- is quoted for the shell:
                   eval "set -- $REDISLOCK_KEYS"
  REDISLOCK_REDIS  the URL of the server, with its password, if it is set for
                   redislock itself; --no-redis keeps it from the command

If the lock is lost, the command's process group gets SIGTERM, and SIGKILL after
--grace. No process of the group runs beyond the end of the lease, even if
redislock is killed or stopped meanwhile.

Standard output is that of the command alone, so --json writes its object as the
last line of standard error, in the place of a message: keys, fence (0: none),
waited_ms, held_ms, ran (whether the command was started), signal (that has
killed it, else 0), status, and error if there is one.

Exit status: that of the command; 128 and the number of the signal that has
killed it; or
  2    the command line is wrong
  65   a key is foreign: it holds something that is no lock
  69   Redis cannot be reached
  75   the lock was not to be had
  77   Redis refuses this user
  79   the lock was lost while the command ran
  126  the command cannot be run
  127  the command was not found
In all these cases but 79 the command did not run.`,
		Examples: []cli.Example{
			{Line: `redislock run orders:17 -- ./charge 17`, About: "run a command while nobody else has the lock; wait in line before"},
			{Line: `redislock run -n --at-least 1m nightly -- ./report`, About: "in the crontab of several hosts: one of them runs it, once"},
			{Line: `redislock run --read --wait 10s stock -- ./count`, About: "with other readers at the same time; give up after 10 s"},
		},
		Define:  define,
		Keys:    true,
		Splits:  true,
		Signals: true,
	}
}

func define(flags *pflag.FlagSet) cli.Action {
	s := &settings{}
	s.redis.Define(flags)
	cli.Time(flags, &s.ttl, "ttl", defaultTTL, "the lease: how long the keys stay locked if this host dies; it is renewed until the command ends")
	cli.Seconds(flags, &s.wait, "wait", "w", "wait in line for at most this `time`, or so many seconds (default no limit)")
	flags.BoolVarP(&s.once, "no-wait", "n", false, "do not wait: ask once")
	flags.IntVarP(&s.busy, "busy-status", "E", cli.NotObtained, "the exit `status` if the lock was not to be had")
	flags.BoolVar(&s.read, "read", false, "take read locks, which others may have at the same time")
	cli.Time(flags, &s.atLeast, "at-least", 0, "keep the keys locked for at least this `time`, even if the command ends sooner")
	cli.Time(flags, &s.grace, "grace", defaultGrace, "how long the command may take to end after SIGTERM")
	flags.StringVar(&s.name, "name", "", "the `name` of the program that others see (default that of the command)")
	flags.BoolVar(&s.noFence, "no-fence", false, "take no fencing number")
	flags.BoolVar(&s.noRedis, "no-redis", false, "keep $REDISLOCK_REDIS, which may have a password, from the command")
	s.json = cli.JSONFlag(flags)
	return func(ctx context.Context, to cli.Streams, args []string) error {
		if err := s.take(args, flags.Changed("wait")); err != nil {
			return err
		}
		return s.run(ctx, to)
	}
}

// take takes in the arguments, and checks what can be checked before Redis is asked.
func (s *settings) take(args []string, isWait bool) error {
	split := slices.Index(args, "--")
	switch {
	case split < 0:
		return cli.Usagef("-- is missing between the keys and the command")
	case split == 0:
		return cli.Usagef("no key is given")
	case split == len(args)-1:
		return cli.Usagef("no command is given behind --")
	}
	s.keys, s.command = args[:split], args[split+1:]
	if i := slices.Index(s.keys, ""); i >= 0 {
		return cli.Usagef("key %d is empty", i+1)
	}
	return cmp.Or(s.check(isWait), s.checkSize())
}

// check checks the flags; isWait says that --wait was given.
func (s *settings) check(isWait bool) error {
	switch {
	case s.busy < 0 || s.busy > 255:
		return cli.Usagef("--busy-status %d: it is from 0 to 255", s.busy)
	case isWait && s.once:
		return cli.Usagef("--wait and --no-wait exclude each other")
	case isWait && (s.wait <= 0 || s.wait > mostTime):
		return cli.Usagef("--wait %s: it is more than 0 and at most %s; --no-wait does not wait", s.wait, mostTime)
	case s.ttl < leastTTL || s.ttl > mostTime:
		return cli.Usagef("--ttl %s: it is from %s to %s", s.ttl, leastTTL, mostTime)
	case s.atLeast < 0 || s.atLeast > mostTime:
		return cli.Usagef("--at-least %s: it is from 0 to %s", s.atLeast, mostTime)
	case s.grace < 0 || s.grace > mostTime:
		return cli.Usagef("--grace %s: it is from 0 to %s", s.grace, mostTime)
	}
	return nil
}

// checkSize refuses what would keep the server busy for too long, and says which flags make it possible.
func (s *settings) checkSize() error {
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
	switch n := len(s.keys); {
	case n > mostKeys:
		return cli.Usagef("%d keys are too many, the limit is %d", n, mostKeys)
	case n > largeSet && (!s.once || !s.noFence || s.read):
		return cli.Usagef("%d keys: more than %d need --no-wait and --no-fence, and cannot be read", n, largeSet)
	}
	return nil
}

// run runs the command under the lock.
func (s *settings) run(ctx context.Context, to cli.Streams) error {
	v := &session{settings: s, began: time.Now(), signals: catch(), tell: newTeller(to.Err)}
	defer v.tell.end()
	err := v.all(ctx)
	if *s.json {
		err = v.tellOutcome(ctx, err)
	}
	if v.alike {
		v.tell.end()
		v.dieAlike()
	}
	return err
}
