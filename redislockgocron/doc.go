// Package redislockgocron lets several machines share the jobs of [gocron] v2: it has a [Locker] and an [Elector] for its
// schedulers. Both are locks in Redis of package redislock.
//
//	locker, err := redislockgocron.NewLocker(client, 10*time.Second, &redislock.Options{HoldAtLeast: 30 * time.Second})
//	…
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// # Which of the two
//
// With a Locker every machine starts every job, and for each tick the machine that comes first runs it.
// So the work is spread over the machines by chance; a machine with a clock that is ahead gets most of
// it. A tick is run once; if its machine dies meanwhile, perhaps again. After a death that job is not
// run for up to the ttl; all other jobs go on. The clocks of the machines may differ by less than
// HoldAtLeast, which has to be chosen by the time between two ticks. A tick that is run costs two
// requests to Redis, one that is not costs one, and long runs are renewed. A Locker is good for jobs
// that must not be run twice, and for many jobs.
//
// With an Elector one machine runs all jobs, until it resigns or dies. Then no job is run for up to the
// TTL. A tick is run once; when the leader changes, perhaps twice, or not at all. The clocks of the
// machines may differ, except that two leaders may then run the same tick. The leader sends three
// requests in each TTL, and each other machine one every 4 to 5 s. An Elector is good for many short
// ticks, for jobs that keep something in memory, and for jobs that start at any moment, such as each
// DurationJob.
//
// gocron does not ask the Locker of a scheduler that has an Elector. docs/recipes.md of the repository
// has both at once.
//
// # How to use a Locker
//
//   - Give every job a name, by gocron.WithName. Otherwise gocron names it after its function. All
//     functions that are made by one function have the same name, and so would be one job. And the names
//     of anonymous functions change with the program, so two versions of it would not exclude each
//     other. The key is "gocron:" and the name, behind the prefix that the Client has; [WithKey]
//     chooses another.
//   - HoldAtLeast makes it one run per tick: the tick stays taken for so long from when its lock was
//     obtained. Without it a quick job is over, and its lock released, before the clock of the next
//     machine strikes: three machines run it three times.
//   - Half of the time between two ticks is the best HoldAtLeast. Say that any two machines start one
//     tick at most d apart: d is how far their clocks differ, plus how late a machine may be that is
//     busy, or waits for Redis. T is the time between two ticks. Then HoldAtLeast has to be more than d,
//     and less than T − d.
//   - A DurationJob begins to count when its machine starts, so d may be all of T. Either let all
//     machines begin at a round moment, with gocron.WithStartAt, or use a CronJob, or make HoldAtLeast
//     a little less than T: 55 s of a minute. Then one machine runs the job until it dies, and after
//     that another one does.
//   - Jobs with other intervals need another HoldAtLeast, and so a Locker of their own:
//     gocron.WithDistributedJobLocker.
//   - The ttl says for how long a job is not run after its machine has died in the middle of it. The
//     lock is renewed while the job runs. If the clock of another machine strikes after the ttl, that
//     machine runs the same tick again. If a job must not be run again after a crash, let the ttl be as
//     long as HoldAtLeast.
//   - A job that fails has used up its tick.
//   - Without Redis no job is run. gocron calls AfterLockError with an error that is no ErrNotObtained,
//     and the next tick is the next try. If Redis does not answer at all a machine tries for 20 s, with
//     the defaults of go-redis, and gocron starts no other tick of the job meanwhile.
//     [redislock.Options].Wait bounds that.
//
// # How to use an Elector
//
//   - It is a candidate of package election in the background, from [NewElector] to [Elector.Close].
//   - [Elector.IsLeader] is nil only inside the window of the lease, by the clocks of this machine. It
//     asks nobody. So a leader that cannot reach Redis runs no more jobs before another one can lead,
//     and a process that was stopped and goes on finds that it leads no longer, even if no timer has
//     told it yet.
//   - Shut the scheduler down first, and close the Elector then: Close resigns at once, and does not
//     wait for jobs.
//   - If the clocks of two machines differ, the next leader may repeat a tick that the last one has run,
//     or miss one.
//
// # What gocron makes of it
//
//   - An error of Lock: the job is not run. gocron calls AfterLockError, counts Skip in its Monitor, and
//     goes on with the next tick. A refusal is a [*redislock.ConflictError]: it says who has the tick.
//   - An error of IsLeader: the job is not run. gocron counts Skip, and tells nobody of the error.
//   - An error of Unlock: gocron drops it. The Client's hooks have it: Hooks.Released, with the name of
//     the job in [redislock.Event].Name.
//   - The context of a job is the same in every run. It ends when the scheduler is shut down or stopped,
//     or the job is removed. No Locker and no Elector can end it. If a job should end when its lock or
//     the leadership is lost, use [Locker.Context] or [Elector.Context]. [redislock.FromContext] finds
//     the lock in it, and the fencing number. Otherwise only Hooks.Lost tells of a loss.
//   - The end of a run: the lock is released however the run ends, by an error, a panic, or a context
//     that has ended. If no AfterJobRunsWithPanic recovers a panic the program ends, and the lock is
//     released before.
//   - A shutdown: gocron waits for jobs for ten seconds, or WithStopTimeout. If a job goes on after
//     that, its lock is renewed until it ends.
//   - A job that takes longer than from tick to tick: its next ticks are skipped, on its own machine,
//     too. WithSingletonMode is not needed for that.
//   - RunNow takes the lock as well, so it is refused as long as HoldAtLeast keeps the last tick.
//   - BeforeJobRunsSkipIfBeforeFuncErrors is called under the lock: a tick that it skips is taken, for
//     all machines.
//   - WithLimitedRuns counts the runs of each machine for itself.
//   - WithDisabledDistributedJobLocker: the job runs on every machine.
//   - A run that lost its lock and goes on: the next run in the same process gets a Locker.Context that
//     has ended, until the old one is over.
//
// A lock in Redis cannot stop a job that does not look at its context, nor a write that is on its way
// when the machine is paused. Where two runs would do damage, use [redislock.Options].Fenced, and give
// the number to what the job writes to.
//
// [gocron]: https://github.com/go-co-op/gocron
package redislockgocron
