package redislockgocron

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/quorum"
)

// A Locker lets one machine alone make each run of a job: it is for [gocron.WithDistributedLocker] and
// [gocron.WithDistributedJobLocker]. It is safe for concurrent use, and may serve several schedulers.
type Locker struct {
	obtain func(context.Context, []string, time.Duration, *redislock.Options) (held.Lock, error)
	ttl    time.Duration
	opt    redislock.Options
	key    func(job string) string

	mu   sync.Mutex
	runs map[string][]*run // by job: runs of this process that have not ended, the oldest first
}

var _ gocron.Locker = (*Locker)(nil)

// A LockerOption changes how a [Locker] works.
type LockerOption func(*Locker)

// WithKey says which key is locked for a job. All machines need the same key for the same job, and jobs with the same
// key never run at the same time. Default: "gocron:" and the name of the job, behind the prefix that the Client has.
func WithKey(key func(job string) string) LockerOption {
	return func(l *Locker) { l.key = key }
}

// obtains are the methods of Clients of packages redislock and quorum, each with its own kind of lock, and
// of every [held.Obtainer].
type obtains[L held.Lock] interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (L, error)
}

// NewLocker makes a Locker of a [*redislock.Client], a Client of package quorum or a [held.Obtainer]. It sends nothing,
// but asks the client whether it can work with the options: the hooks of the client are told of one Obtain with a
// context that has ended. The caller closes the client, after the schedulers were shut down.
//
// The ttl says for how long a job is not run if its machine dies. The lock is renewed while the job runs, however long
// that takes. If the ttl is as long as HoldAtLeast, no tick is run again after a crash.
//
// opt is for the lock of every run; nil means defaults:
//
//   - HoldAtLeast says for how long a tick is taken, although its job has ended. Without it a machine runs a quick job
//     again if its clock strikes after the end of the job. Say that two machines start one tick at most d apart: then
//     HoldAtLeast has to be longer than d, and shorter than the time between two ticks less d. Half of that time is a
//     good choice. Jobs with other intervals get a Locker of their own, by [gocron.WithDistributedJobLocker].
//   - Metadata is for the machines that are refused. Default: [redislock.InstanceMetadata].
//   - Name is the name of the lock in events. Default: the name of the job, or as much of it as a name may have.
//   - Wait bounds how long a machine tries to reach Redis for one run. Without it that can be 20 s, and meanwhile
//     gocron does not start the next tick of the job.
//   - Watchdog is always on.
//   - Fenced is as for any lock, see [Locker.Context] for the number.
//
// Other options are refused: a Locker asks once, because a machine that has waited for the lock would make the same run
// again. A [redislock.Owner] or a [quorum.Owner] in place of the client is refused, too: the runs of one owner do not
// exclude each other. NewLocker cannot see an Owner behind a [held.Obtainer].
func NewLocker[L held.Lock](client obtains[L], ttl time.Duration, opt *redislock.Options, opts ...LockerOption) (*Locker, error) {
	l := &Locker{ttl: ttl, key: prefixed, runs: map[string][]*run{}}
	if opt != nil {
		l.opt = *opt
	}
	for _, o := range opts {
		o(l)
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("redislockgocron: %w", err)
	}
	switch any(client).(type) {
	case nil:
		return nil, errors.New("redislockgocron: the client is nil")
	case redislock.Owner, quorum.Owner:
		return nil, errors.New("redislockgocron: an Owner would be one for all machines and runs: a Locker is made of the Client")
	}
	l.opt.Watchdog = true
	if l.opt.Wait > 0 {
		l.opt.RetryStrategy = redislock.NoRetry() // or Wait would have it ask again
	}
	if l.opt.Metadata == "" {
		l.opt.Metadata = redislock.InstanceMetadata()
	}
	l.obtain = func(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (held.Lock, error) {
		lock, err := client.Obtain(ctx, keys, ttl, opt)
		if err != nil {
			return nil, err
		}
		return lock, nil
	}
	if err := l.refusal(); err != nil {
		return nil, fmt.Errorf("redislockgocron: %w", err)
	}
	return l, nil
}

// refusal is the client's error for options that it cannot work with. Nothing is sent, because the context has ended
// before.
func (l *Locker) refusal() error {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	switch lock, err := l.obtain(over, []string{prefixed("")}, l.ttl, &l.opt); {
	case err == nil: // a client of another kind does not look at its context
		return lock.Release(over)
	case errors.Is(err, context.Canceled):
		return nil
	default:
		return err
	}
}

func prefixed(job string) string { return "gocron:" + job }

const maxName = 128 // bytes of redislock.Options.Name

// check refuses options that a Locker cannot have, though the client takes them.
func (l *Locker) check() error {
	switch o := &l.opt; {
	case l.key == nil:
		return errors.New("the function of WithKey is nil")
	case o.RetryStrategy != nil, o.Queue, o.Intent:
		return errors.New("a Locker asks once: RetryStrategy, Queue and Intent are for locks that are waited for")
	}
	return nil
}

// Lock takes the lock of a job for one run. gocron calls it with the name of the job.
//
// There is one attempt. If another machine runs the job, if this tick was taken before, or if an earlier run in this
// process goes on, the error is a [*redislock.ConflictError], an [redislock.ErrNotObtained]; if Redis cannot be reached
// it is another error. In every case gocron does not run the job, calls [gocron.AfterLockError] with the error, counts
// [gocron.Skip], and goes on with the next tick.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	opt := l.opt
	if opt.Name == "" {
		opt.Name = strings.ToValidUTF8(job[:min(len(job), maxName)], "")
	}
	lock, err := l.obtain(ctx, []string{l.key(job)}, l.ttl, &opt)
	if err != nil {
		return nil, err
	}
	r := &run{locker: l, job: job, lock: lock}
	l.begin(r)
	return r, nil
}

// Context returns a context for a run of the job with this name, which the job calls with its own context:
//
//	func report(ctx context.Context) error {
//		ctx = locker.Context(ctx, "report")
//		…
//
// It is cancelled with cause [redislock.ErrLockLost] when the lock of the run is lost, no later than others can have
// it; see [redislock.Lock.Context]. When the run is over it is cancelled, too. [redislock.FromContext] finds the lock
// in it, and so the fencing number if the Locker was made with [redislock.Options].Fenced.
//
// If an earlier run of the job goes on in this process although it has lost its lock, the context has ended already:
// the Locker is there to prevent two runs at the same time. If the Locker holds no lock for that name, the context has
// ended as well, with a cause that is an [redislock.ErrLockNotHeld].
func (l *Locker) Context(ctx context.Context, job string) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := l.runs[job]
	if len(runs) == 0 {
		ctx, end := context.WithCancelCause(ctx)
		end(fmt.Errorf("redislockgocron: no run of job %q: %w", job, redislock.ErrLockNotHeld))
		return ctx
	}
	for _, r := range runs {
		ctx = r.lock.Context(ctx) //nolint:fatcontext // they end together, and after a loss there are two at most
	}
	return ctx
}

// A run is the lock of one run of a job.
type run struct {
	locker *Locker
	job    string
	lock   held.Lock
}

// Unlock releases the lock, also if ctx has ended, as the context of a job has when its scheduler is shut down. With
// HoldAtLeast the key stays taken for the rest of that time. The errors are as for [redislock.Lock.Release]; gocron
// drops them.
func (r *run) Unlock(ctx context.Context) error {
	r.locker.end(r)
	return r.lock.Release(ctx)
}

// begin takes note of a run.
func (l *Locker) begin(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[r.job] = append(l.runs[r.job], r)
}

// end forgets a run.
func (l *Locker) end(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := slices.DeleteFunc(l.runs[r.job], func(other *run) bool { return other == r })
	if len(left) == 0 {
		delete(l.runs, r.job)
		return
	}
	l.runs[r.job] = left
}
