package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// Players are the processes of the load.
type players struct {
	each []*playing
	ctx  context.Context // with which they end
	end  context.CancelCauseFunc
}

// A playing is one process of the load, as the command sees it.
type playing struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	out     io.Reader
	answers *json.Decoder
	said    bytes.Buffer // on its standard error; read when it has ended
}

const (
	patience = 30 * time.Second // how long a process may take for more than it has to
	leaving  = 10 * time.Second // how long it may take to release what it holds
)

// startPlayers starts so many processes and waits until each of them can play. They end with ctx, or by
// [players.stop], which is to be called also after an error.
func startPlayers(ctx context.Context, s setup, processes int) (*players, error) {
	all := &players{}
	all.ctx, all.end = context.WithCancelCause(ctx)
	for range processes {
		p, err := startPlaying(all.ctx)
		if err != nil {
			return all, fmt.Errorf("start the load: %w", err)
		}
		all.each = append(all.each, p)
	}
	workers := s.Load.Workers
	_, err := all.ask(patience, func(i int) any {
		s.Load.First = workers * i / processes
		s.Load.Workers = workers*(i+1)/processes - s.Load.First
		return s
	})
	return all, err
}

// startPlaying starts a process that ends with ctx: then its standard input does.
func startPlaying(ctx context.Context) (*playing, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &playing{cmd: exec.CommandContext(ctx, program, playerName)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, leaving
	p.cmd.Cancel = func() error { return p.in.Close() }
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	p.orders, p.answers = json.NewEncoder(p.in), json.NewDecoder(p.out)
	return p, p.cmd.Start()
}

// ask tells each process something, and puts together what they answer. If they take too long all of them are ended, and
// with them their output.
func (all *players) ask(within time.Duration, what func(i int) any) (whole measure.Part, err error) {
	late := time.AfterFunc(within, func() { all.end(errors.New("a process of the load does not answer")) })
	defer late.Stop()
	for i, p := range all.each {
		if p.orders.Encode(what(i)) != nil {
			return whole, all.failure(p)
		}
	}
	for _, p := range all.each {
		var said answer
		if p.answers.Decode(&said) != nil || all.ctx.Err() != nil {
			return whole, all.failure(p)
		}
		if err := said.err(); err != nil {
			return whole, err
		}
		whole.Join(said.Seen)
	}
	return whole, nil
}

// failure says why a process has ended that was not to end.
func (all *players) failure(p *playing) error {
	_ = p.in.Close() // it may be talking nonsense
	err := p.wait()
	if all.ctx.Err() != nil {
		return context.Cause(all.ctx)
	}
	how := "by itself"
	if err != nil {
		how = err.Error()
	}
	if said := strings.TrimSpace(p.said.String()); said != "" {
		how += ": " + cli.Text(said)
	}
	return fmt.Errorf("process %d of the load has ended, %s", p.cmd.Process.Pid, how)
}

// wait returns when the process has ended. Nobody wants any more what it says.
func (p *playing) wait() error {
	_, _ = io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

// stop ends all processes, and returns when they have ended, and what they have used of the processors.
func (all *players) stop() (used time.Duration) {
	all.end(nil)
	for _, p := range all.each {
		_ = p.wait() // whatever it says, the slices are played
		used += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return used
}
