package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// superviseName is the name of the command that redislock run calls.
const superviseName = "run-supervisor"

// An errand is what the supervisor is told when it is started.
type errand struct {
	in, out  uint // the pipes
	ttl      time.Duration
	grace    time.Duration
	group    int      // the process group of redislock
	terminal bool     // which has the terminal, and gives it to the command
	path     string   // of the command
	command  []string // with its name
}

// Supervisor is the command that stands between redislock run and the command that it runs.
func Supervisor() cli.Command {
	return cli.Command{
		Name:     superviseName,
		Args:     "PATH COMMAND [ARG...]",
		Summary:  "look after a command, for redislock run",
		Examples: []cli.Example{{Line: "redislock run -h", About: "the command for people"}},
		Define: func(flags *pflag.FlagSet) cli.Action {
			e := &errand{}
			flags.UintVar(&e.in, "in", 0, "the `pipe` from redislock")
			flags.UintVar(&e.out, "out", 0, "the `pipe` to redislock")
			cli.Time(flags, &e.ttl, "ttl", 0, "the lease")
			cli.Time(flags, &e.grace, "grace", 0, "between SIGTERM and SIGKILL")
			flags.IntVar(&e.group, "group", 0, "the process `group` of redislock")
			flags.BoolVar(&e.terminal, "terminal", false, "give the terminal to the command")
			return func(_ context.Context, to cli.Streams, args []string) error {
				if len(args) < 3 || e.in == 0 || e.out == 0 {
					return cli.Usagef("it is called by redislock run")
				}
				e.path, e.command = args[1], args[2:]
				return supervise(e, to)
			}
		},
		Splits:  true,
		Signals: true,
		Hidden:  true,
	}
}

// A supervisor looks after one command.
type supervisor struct {
	teller    *teller
	link      *link
	countdown *countdown
	group     *group
	ended     bool // the command has ended; others of its group perhaps have not
}

const (
	// tick is how soon the supervisor sees that the machine has slept, when timers stood still.
	tick = 200 * time.Millisecond
	// look is how often it looks whether the group is gone, once the command has ended.
	look = 10 * time.Millisecond
)

// supervise starts the command and looks after it until its group is gone.
func supervise(e *errand, to cli.Streams) error {
	shield()
	v := &supervisor{teller: newTeller(to.Err), countdown: newCountdown(e.ttl, e.grace)}
	v.link = newLink(inherited(e.in), inherited(e.out))
	defer v.teller.end()
	early, err := v.prepare()
	if err == nil {
		v.group, err = startGroup(e)
	}
	if err != nil {
		status := cli.CannotRun
		if known, ok := errors.AsType[*cli.StatusError](err); ok {
			status = known.Status
		}
		v.tell(message{Say: sayFailed, Text: err.Error(), Status: status})
		return cli.Exit(cli.Failed, nil)
	}
	v.tell(message{Say: sayStarted, Group: v.group.pid})
	letGo()
	for _, m := range early {
		v.hear(m)
	}
	v.loop()
	return nil
}

// prepare waits for the end of the lease, and takes in all that was said until now: this process may have begun late, or was
// stopped. It returns what is for the command, or why that is not to be started.
func (v *supervisor) prepare() (early []message, err error) {
	for known := false; ; {
		m, ok, gone := v.link.next()
		switch {
		case ok && m.Say == sayDeadline:
			v.countdown.renewed(m, now())
			known = true
		case ok && m.Say == sayLost:
			return nil, cli.Exit(cli.Lost, errors.New("the lock was lost before the command was started"))
		case ok:
			early = append(early, m)
		case known && v.isOver():
			return nil, cli.Exit(cli.Lost, errors.New("the lease ended before the command was started"))
		case gone:
			return nil, errors.New("redislock is gone")
		case known:
			return early, nil
		default:
			<-v.link.heard
		}
	}
}

// isOver reports whether a command would be ended at once.
func (v *supervisor) isOver() bool {
	todo, _ := v.countdown.next(now())
	return todo != nothing
}

// execute starts a process that has what this one reads and writes.
func execute(path string, args []string, attr *syscall.SysProcAttr) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: path, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: attr}
	return cmd, cmd.Start()
}

// letGo closes the input and the output of this process, so that it is the command alone that has them open.
func letGo() {
	_ = os.Stdin.Close()
	_ = os.Stdout.Close()
}

// tell tells redislock, if that is there.
func (v *supervisor) tell(m message) { _ = v.link.send(m) }

// loop returns when the group is gone.
func (v *supervisor) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		v.read()
		if v.ended && !v.group.alive() {
			v.tell(message{Say: sayGone})
			return
		}
		timer.Reset(v.act())
		select {
		case <-v.link.heard:
		case e := <-v.group.events:
			v.note(e)
		case <-timer.C:
		}
	}
}

// read takes in all that redislock has said. It comes before the clock is asked: a supervisor that was stopped alone has not
// heard of the renewals that came meanwhile.
func (v *supervisor) read() {
	for {
		m, ok, gone := v.link.next()
		if !ok {
			if gone {
				v.abandoned()
			}
			return
		}
		v.hear(m)
	}
}

// act does what is due, and returns how long there is nothing to do.
func (v *supervisor) act() time.Duration {
	todo, wait := v.countdown.next(now())
	switch todo {
	case terminate:
		v.terminate()
		v.tell(message{Say: sayLate})
		wait = look
	case kill:
		v.group.kill() // again and again, until it is gone
		wait = look
	case nothing:
	}
	if v.ended {
		return min(wait, look)
	}
	return min(wait, tick)
}

// terminate begins to end the group.
func (v *supervisor) terminate() {
	if v.countdown.begin(now()) {
		v.group.terminate()
	}
}

// abandoned takes in that redislock is gone.
func (v *supervisor) abandoned() {
	if v.countdown.begin(now()) {
		v.group.terminate()
		v.teller.say("redislock run: redislock is gone: the command is ended, and its keys stay locked until the lease ends\n")
	}
}

// hear takes in what redislock says.
func (v *supervisor) hear(m message) {
	switch m.Say {
	case sayDeadline:
		v.countdown.renewed(m, now())
	case saySignal:
		v.group.signal(m.Signal)
	case sayLost:
		v.terminate()
	}
}

// note takes in what has happened to the command.
func (v *supervisor) note(m message) {
	if m.Say == sayEnded {
		v.ended = true
		m.Terminal = v.group.giveBack()
	}
	v.tell(m)
}
