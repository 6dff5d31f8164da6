// Package redislockgocron lets several machines share the jobs of [gocron] v2: it has a [Locker] and an [Elector] for its
// schedulers. Both are locks in Redis of package redislock.
//
//	locker, err := redislockgocron.NewLocker(client, 10*time.Second, &redislock.Options{HoldAtLeast: 30 * time.Second})
//	…
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// # Which of the two
//
// With a Locker every machine starts every job, and the first machine runs it. Each tick is run once, also when
// machines come and go, and the work is spread over them by chance. It takes one number: for how long a tick is taken.
//
// With an Elector one machine runs all jobs until it dies or resigns. Jobs may then keep something in memory from run
// to run, and the clocks of the machines need not agree. When the leader changes, a tick may be run twice, or not at
// all.
//
// gocron does not ask the Locker of a scheduler that has an Elector. docs/gocron.md of the repository says more of both,
// and how to have the two at once.
//
// # What gocron does not do
//
// gocron gives a job the same context in every run, and no Locker and no Elector can end it. So a job goes on when its
// lock, or the leadership, is lost, unless it asks for a context that ends then: [Locker.Context], [Elector.Context].
//
// gocron drops the error of an Unlock. [redislock.WithHooks] has it, in the event Released, and the loss of a lock in
// the event Lost; [redislock.Event] names the job.
//
// [gocron]: https://github.com/go-co-op/gocron
package redislockgocron
