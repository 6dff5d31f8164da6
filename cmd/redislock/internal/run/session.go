package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A session is the command while it runs, as redislock sees it.
type session struct {
	*settings
	tell     *teller
	signals  <-chan os.Signal
	began    time.Time
	hold     *hold     // nil until it was obtained
	obtained time.Time // when it was

	supervisor *exec.Cmd
	link       *link
	terminal   *terminal // nil if there is none
	group      int       // of the command; 0: it was not started
	foreground bool      // the command has the terminal whenever redislock would have it

	ended   bool             // the command
	status  int              // its exit status
	killed  int              // the signal that has killed it; 0: none
	fromTTY bool             // it had the terminal when it ended
	failed  string           // why it could not be started
	lost    error            // why the lock does not count any more; nil if it does
	late    bool             // the command was ended because no renewal came through
	told    string           // why the command is ended, once that was said
	alike   bool             // redislock ends as the command has ended
	urged   bool             // a signal that ends processes was passed on
	stuck   <-chan time.Time // when the supervisor should have ended the group
	remind  <-chan time.Time // when it is to be said for what redislock waits
}

// all does all that the command line asks for.
func (s *session) all(ctx context.Context) (err error) {
	if s.path, err = find(s.command[0]); err != nil {
		return err
	}
	conn, err := s.open(ctx, s.signals)
	if err != nil {
		return err
	}
	if s.hold, err = s.obtain(ctx, conn, s.signals, s.tell); err != nil {
		return err
	}
	s.obtained = time.Now()
	return s.run()
}

// run starts the command, looks after it until its group is gone, and then releases the lock.
func (s *session) run() error {
	if s.isLost() {
		s.release()
		return cli.Exit(cli.Lost, fmt.Errorf("the lock was lost before the command was started: %s", plain(s.lost)))
	}
	if err := s.start(); err != nil {
		s.release()
		return cli.Exit(cli.CannotRun, fmt.Errorf("cannot start a supervisor for the command: %w", err))
	}
	if !s.attend() {
		s.orphaned()
	}
	if s.group == 0 && s.failed == "" {
		// It may have started the command, but nobody knows which that is.
		return cli.Exit(cli.Failed, errors.New("the supervisor has died; the keys stay locked until the lease ends"))
	}
	s.release()
	return s.outcome()
}

// start starts the supervisor, which starts the command.
func (s *session) start() error {
	s.terminal = openTerminal()
	theirIn, out, err := os.Pipe()
	if err != nil {
		return err
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	e := &errand{ttl: s.ttl, grace: s.grace, terminal: s.terminal.isOurs(), path: s.path, command: s.command}
	s.supervisor, err = newSupervisor(e, theirIn, theirOut)
	if err != nil {
		return err
	}
	s.supervisor.Env = environ(os.Environ(), s.keys, s.hold.Fence(), !s.noRedis)
	s.link = newLink(in, out)
	s.tellDeadline()
	if err := s.supervisor.Start(); err != nil {
		return err
	}
	_ = theirIn.Close() // that it is gone is seen by the end of the pipe
	_ = theirOut.Close()
	letGo()
	settle()
	s.foreground = e.terminal
	return nil
}

// tellDeadline tells the supervisor until when the lock is certain.
func (s *session) tellDeadline() {
	at := sharedClock() // before it is asked how much is left, so that the deadline is not too late
	left := time.Until(s.hold.Deadline())
	s.say(message{Say: sayDeadline, Deadline: at + left, Left: left})
}

// say tells the supervisor. One that does not listen is ended, and the command with it.
func (s *session) say(m message) {
	if err := s.link.send(m); err != nil && s.supervisor.Process != nil {
		_ = s.supervisor.Process.Kill() // attend sees the end of the pipe
	}
}

// attend goes on until the group of the command is gone. It reports false if the supervisor is gone before.
func (s *session) attend() bool {
	jobs := s.jobControl()
	for {
		select {
		case <-s.link.heard:
			if over, gone := s.read(); over {
				return true
			} else if gone {
				return s.failed != ""
			}
		case <-s.hold.renewed:
			s.tellDeadline()
		case why := <-s.hold.lost:
			s.lose(why)
		case sig := <-s.signals:
			s.urged = s.urged || endsProcess(sig) > 0
			s.pass(sig)
		case sig := <-jobs:
			s.pass(sig)
		case <-s.stuck:
			_ = s.supervisor.Process.Kill() // it is stopped, perhaps
		case <-s.remind:
			s.tell.say("redislock run: the command has ended, but others of its process group %d run: waiting for them\n", s.group)
		}
	}
}

// read takes in what the supervisor has said. It reports whether the group of the command is gone, or the supervisor is.
func (s *session) read() (over, gone bool) {
	for {
		m, ok, gone := s.link.next()
		if !ok || m.Say == sayGone {
			return ok, gone
		}
		s.hear(m)
	}
}

// hear takes in one message of the supervisor.
func (s *session) hear(m message) {
	switch m.Say {
	case sayStarted:
		s.group = m.Group
	case sayFailed:
		s.failed, s.status = m.Text, m.Status
	case sayStopped:
		s.stopped(m.Signal)
	case sayLate:
		s.late = true
		s.tellEnd(strings.TrimSuffix(fmt.Sprint("the lease ends soon, and no renewal was confirmed: ", s.hold.why()), ": "))
	case sayEnded:
		s.ended, s.killed, s.fromTTY, s.status = true, m.Signal, m.Terminal, m.Status
		s.remind = time.After(time.Second)
	}
}

// stuckPatience is how late the supervisor may be.
const stuckPatience = 2 * time.Second

// lose takes in that the lock is lost, and has the command ended.
func (s *session) lose(why error) {
	s.lost = why
	s.tellEnd(plain(why))
	s.say(message{Say: sayLost})
	left := max(0, time.Until(s.hold.Deadline()))
	s.stuck = time.After(min(s.grace, left) + stuckPatience)
}

// tellEnd says once why the command is ended, if it was started.
func (s *session) tellEnd(why string) {
	if s.group != 0 && !s.ended && s.told == "" {
		s.told = "the command is ended: " + why
		s.tell.say("redislock run: %s\n", s.told)
	}
}

// orphaned takes in that the supervisor is gone. The command is not to go on without one.
func (s *session) orphaned() {
	if s.group == 0 {
		return
	}
	if !s.ended {
		s.killed, s.status = killSignal, 128+killSignal
		s.tell.say("redislock run: the supervisor of the command is gone: the command is killed\n")
	}
	for dead := new(zombies); killGroup(s.group, dead); {
		time.Sleep(look)
	}
	s.terminal.takeBack(s.group)
}

// isLost reports whether the lock does not count any more, as far as that was heard.
func (s *session) isLost() bool {
	select {
	case why := <-s.hold.lost:
		s.lost = why
	default:
	}
	return s.lost != nil
}

// release frees the keys, if they are ours still.
func (s *session) release() {
	urged := s.urged || s.killed > 0 && endsProcess(syscall.Signal(s.killed)) > 0
	ctx, cancel := untilUrged(time.Until(s.hold.Deadline()), s.signals, urged, s.tell)
	defer cancel()
	switch err := s.hold.end(ctx, !s.isLost()); {
	case err == nil:
	case errors.Is(err, redislock.ErrLockNotHeld):
		s.lost = err
	default:
		s.tell.say("redislock run: the keys stay locked until the lease ends, unless they are free: %s\n", plain(err))
	}
}

// outcome is the error with the exit status.
func (s *session) outcome() error {
	switch {
	case s.failed != "":
		return cli.Exit(s.status, errors.New(s.failed))
	case s.told != "":
		return cli.Exit(cli.Lost, nil)
	case s.lost != nil:
		return cli.Exit(cli.Lost, fmt.Errorf("the lock was lost while the command ran: %s", plain(s.lost)))
	case s.late:
		return cli.Exit(cli.Lost, errors.New("the lock could not be renewed while the command ran"))
	case s.status == 0:
		return nil
	}
	s.alike = true
	return cli.Exit(s.status, nil)
}
