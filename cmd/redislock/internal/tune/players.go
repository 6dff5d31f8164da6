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
)

// players are the processes of the load.
type players []*playing

// A playing is one process of the load, as the command sees it.
type playing struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	parts chan part    // what it says; closed when it has ended
	said  bytes.Buffer // on its standard error; read when it has ended
	err   error        // of its end; read when it has ended
}

const (
	patience = 30 * time.Second // how long a process may take for more than it has to
	leaving  = 10 * time.Second // how long it may take to release what it holds
)

// startPlayers starts the processes and waits until each of them can play. They end with ctx: [players.wait] waits for that, also
// after an error.
func startPlayers(ctx context.Context, s setup) (all players, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the load: %w", err)
	}
	workers, processes := s.Load.Workers, s.Load.Processes
	for i := range processes {
		p, err := startPlaying(ctx, program)
		if err != nil {
			return all, fmt.Errorf("start the load: %w", err)
		}
		all = append(all, p)
		s.First = workers * i / processes
		s.Load.Workers = workers*(i+1)/processes - s.First
		if err := p.tell(s); err != nil {
			return all, err
		}
	}
	_, err = all.collect(ctx, patience)
	return all, err
}

// startPlaying starts a process that ends with ctx: then its standard input does.
func startPlaying(ctx context.Context, program string) (*playing, error) {
	p := &playing{cmd: exec.CommandContext(ctx, program, playerName), parts: make(chan part)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, leaving
	p.cmd.Cancel = func() error { return p.in.Close() }
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.in = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

// listen passes on what the process says until it has ended.
func (p *playing) listen(out io.Reader) {
	defer close(p.parts)
	in := json.NewDecoder(out)
	for said := (part{}); in.Decode(&said) == nil; said = (part{}) {
		p.parts <- said
	}
	_, _ = io.Copy(io.Discard, out) // a process that talks nonsense is not to be held up by it
	p.err = p.cmd.Wait()
}

// tell says something to the process.
func (p *playing) tell(what any) error {
	if err := json.NewEncoder(p.in).Encode(what); err != nil {
		return p.ended()
	}
	return nil
}

// ended says how a process has ended that was not to end.
func (p *playing) ended() error {
	late := time.After(patience)
	for isThere := true; isThere; {
		select {
		case _, isThere = <-p.parts:
		case <-late:
			return errors.New("a process of the load reads nothing any more")
		}
	}
	how := "by itself"
	if p.err != nil {
		how = p.err.Error()
	}
	if said := strings.TrimSpace(p.said.String()); said != "" {
		how += ": " + cli.Text(said)
	}
	return fmt.Errorf("process %d of the load has ended, %s", p.cmd.Process.Pid, how)
}

// play has all processes play a slice, and puts together what they have seen.
func (all players) play(ctx context.Context, o order) (part, error) {
	for _, p := range all {
		if err := p.tell(o); err != nil {
			return part{}, err
		}
	}
	return all.collect(ctx, o.Length+patience)
}

// collect waits for one answer of each process.
func (all players) collect(ctx context.Context, within time.Duration) (whole part, err error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for _, p := range all {
		select {
		case said, isThere := <-p.parts:
			switch {
			case !isThere:
				return part{}, p.ended()
			case said.Status != 0:
				return part{}, cli.Exit(said.Status, errors.New(said.Error))
			case said.Error != "":
				return part{}, errors.New(said.Error)
			}
			whole.join(said)
		case <-late.C:
			return part{}, fmt.Errorf("process %d of the load does not answer", p.cmd.Process.Pid)
		case <-ctx.Done():
			return part{}, context.Cause(ctx)
		}
	}
	return whole, nil
}

// wait returns when all processes have ended.
func (all players) wait() {
	for _, p := range all {
		for range p.parts { // which nobody wants any more
		}
	}
}
