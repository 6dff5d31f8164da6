package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// commands are those that a script has beside those of testscript:
//
//	redislock ARG...         the tool, which ends well and says nothing on stderr; what it writes is made plain
//	exits STATUS ARG...      the tool, which ends with this status
//	fails STATUS TEXT ARG... the tool, which ends with this status, writes no result, and says this on stderr, but not "hush"
//	server [ARG...]          starts the server that the tool and the commands below use from then on; cluster starts a Cluster
//	fixture NAME             brings it into a state that a page shows
//	redis COMMAND...         sends one command to it; @FILE stands for the words of a file
//	lock [FLAG...] WHO KEY.. has somebody obtain keys; with -wait, wait for them
//	release KEY              ends the lock whose first key it is; leave, upgrade and downgrade change it
//	queued N KEY...          waits until so many stand in the lines of keys
//	await FILE [TEXT]        waits until a file has a text, or a line
//	needs PROGRAM            skips the script where a program is missing
//	each STATUS TEXT FILE... runs the command lines of files, which all end so
//	answers TEXT             starts what answers every command with a text; it is silent if that is empty, and hangs up at EOF
//	down                     kills the server; up starts it again, where it was, without any data
var commands = map[string]func(*script, []string){
	"redislock": func(s *script, args []string) { s.exits(0, args, "stderr") },
	"exits":     func(s *script, args []string) { s.exits(check.Must[int](s.t)(strconv.Atoi(args[0])), args[1:], "") },
	"fails": func(s *script, args []string) {
		s.exits(check.Must[int](s.t)(strconv.Atoi(args[0])), args[2:], "stdout")
		if said := s.ReadFile("stderr"); !strings.Contains(said, args[1]) {
			s.Fatalf("stderr has no %q", args[1])
		} else if strings.Contains(said, "hush") {
			s.Fatalf("stderr has the password")
		}
	},
	"server": func(s *script, args []string) { s.start(redistest.Redis, args) },
	"valkey": func(s *script, args []string) { s.start(redistest.Valkey, args) },
	"cluster": func(s *script, _ []string) {
		cluster := redistest.StartCluster(s.t, redistest.Redis, 3, 0)
		s.use(newCrowd(s.t, cluster.Client(s.t)), cluster.Addrs()[0], "?addr="+cluster.Addrs()[1])
	},
	"answers": func(s *script, args []string) { s.use(s.crowd, startAnswering(s.t, args[0]), "") },
	"down":    func(s *script, _ []string) { s.server.Kill() },
	"up":      func(s *script, _ []string) { s.server.Restart() },
	"each":    (*script).each,
	"fixture": func(s *script, args []string) { fixtures[args[0]](s.crowd) },
	"redis": func(s *script, args []string) {
		var command []any
		for _, arg := range args {
			words := []string{arg}
			if file, ok := strings.CutPrefix(arg, "@"); ok {
				words = strings.Fields(s.ReadFile(file))
			}
			for _, word := range words {
				command = append(command, word)
			}
		}
		reply, err := s.crowd.rdb.Do(s.t.Context(), command...).Result()
		if !errors.Is(err, redis.Nil) {
			s.Check(err)
		}
		_, err = fmt.Fprintln(s.Stdout(), reply)
		s.Check(err)
	},
	"lock":      (*script).lock,
	"release":   func(s *script, args []string) { s.Check(s.crowd.locks[args[0]].Release(s.t.Context())) },
	"downgrade": func(s *script, args []string) { s.Check(s.crowd.locks[args[0]].Downgrade(s.t.Context())) },
	"leave":     func(s *script, args []string) { s.Check(s.crowd.locks[args[0]].Leave(s.t.Context(), 12*time.Hour)) },
	"upgrade": func(s *script, args []string) {
		if err := s.crowd.locks[args[0]].Upgrade(s.t.Context()); !errors.Is(err, redislock.ErrNotObtained) {
			s.Fatalf("upgrade: %v", err)
		}
	},
	"queued": func(s *script, args []string) {
		want := check.Must[int](s.t)(strconv.Atoi(args[0]))
		check.Eventually(s.t, soon, strings.Join(args, " in "), func() bool { return s.crowd.inLine(args[1:]) >= want })
	},
	"await": func(s *script, args []string) {
		want := append(args, "\n")[1]
		check.Eventually(s.t, soon, strings.Join(args, " has "), func() bool {
			text, err := os.ReadFile(s.MkAbs(args[0]))
			return err == nil && strings.Contains(string(text), want)
		})
	},
	"needs": func(s *script, args []string) { needProgram(s.t, args[0]) },
}

// Each file of testdata is a script of commands and of what they write. A word that begins with " is a string of Go.
// UPDATE_SCRIPTS=1 writes what "cmp stdout FILE" finds into the script.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := testscript.Params{Dir: "testdata", Setup: setUp, UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "", RequireUniqueNames: true}
	p.Deadline, _ = t.Deadline()
	p.Cmds = map[string]func(*testscript.TestScript, bool, []string){}
	for name, command := range commands {
		p.Cmds[name] = func(ts *testscript.TestScript, _ bool, args []string) {
			for i, arg := range args {
				if strings.HasPrefix(arg, `"`) {
					args[i] = check.Must[string](ts.Value("stage").(*stage).t)(strconv.Unquote(arg))
				}
			}
			command(&script{ts, ts.Value("stage").(*stage)}, args)
		}
	}
	testscript.RunT(scriptT{t}, p)
}

// A scriptT is a test with scripts as subtests.
type scriptT struct{ *testing.T }

func (s scriptT) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(scriptT{t}) })
}

func (s scriptT) Verbose() bool { return testing.Verbose() }

// A script is one that runs.
type script struct {
	*testscript.TestScript
	*stage
}

// A stage is what the commands of a script have for one another.
type stage struct {
	t       *testing.T
	server  *redistest.Server // the last that was started
	crowd   *crowd
	started *process
}

// setUp gives a script the tool, and a test.
func setUp(env *testscript.Env) error {
	env.Values["stage"] = &stage{t: env.T().(scriptT).T}
	self, err1 := os.Executable()
	docs, err2 := filepath.Abs("docs")
	bin := filepath.Join(env.WorkDir, ".bin")
	env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv(asTool, "1")
	env.Setenv("LC_ALL", os.Getenv("LC_ALL"))
	env.Setenv("DOCS", docs)
	return errors.Join(err1, err2, os.Mkdir(bin, 0o700), os.Symlink(self, filepath.Join(bin, "redislock"+env.Getenv("exe"))))
}

// varies is what differs from run to run, and what stands for it in a script. A column may be as wide as what it has.
var varies = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d{2,}`), "ADDR"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b|\b[A-Z][a-z][a-z] \d\d \d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`\b[A-Za-z0-9_-]{22}\b`), "TOKEN"},
	{regexp.MustCompile(`\b\d{16}\b`), "FENCE"},
	{regexp.MustCompile(`("\w+_ms":)\d+`), "${1}0"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(d|h|m|s|ms|µs|ns))+\b`), "T"},
	{regexp.MustCompile(`\n +->`), " ->"}, // a circle may need two lines
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// exits runs the tool, which has to end with a status, and writes nothing to one of its streams.
func (s *script) exits(status int, args []string, silent string) {
	got, err := 0, s.Exec("redislock", args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = exit.ExitCode(), nil
	}
	s.Check(err)
	if got != status {
		s.Fatalf("exit status %d, want %d", got, status)
	}
	if silent != "" && s.ReadFile(silent) != "" {
		s.Fatalf("it writes to %s", silent)
	}
	for name, w := range map[string]io.Writer{"stdout": s.Stdout(), "stderr": s.Stderr()} {
		text := s.ReadFile(name)
		for _, v := range varies {
			text = v.what.ReplaceAllString(text, v.by)
		}
		_, err := io.WriteString(w, text)
		s.Check(err)
	}
}

// each runs the command lines of some files, all at once. Each of them ends with a status, and says a text. None tells a password.
func (s *script) each(args []string) {
	var all []*process
	for _, file := range args[2:] {
		for line := range strings.Lines(s.ReadFile(file)) {
			all = append(all, s.process(strings.Fields(os.Expand(line, s.Getenv))).start(s.t))
		}
	}
	for _, p := range all {
		p.want(s.t, check.Must[int](s.t)(strconv.Atoi(args[0])), args[1], "redislock "+p.Args[1]+": ")
		if said := p.stdout.String() + p.stderr.String(); strings.Contains(said, "hush") {
			s.t.Errorf("the password is in %q", said)
		}
	}
}

// process prepares the tool as a process beside the script.
func (s *script) process(args []string) *process {
	p := newProcess(s.t, args...)
	p.Dir = s.Getenv("WORK")
	p.Env = append(p.Env, cli.RedisVariable+"="+s.Getenv(cli.RedisVariable), asTool+"="+s.Getenv(asTool))
	return p
}

// startAnswering starts what answers every command with a text, and returns its address: a server that loads does so, for too
// short a time. It says nothing if the text is empty, and hangs up if it is EOF.
func startAnswering(t *testing.T, text string) string {
	t.Helper()
	listener := check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan() && text != "EOF"; { // "*n" begins a command
					if strings.HasPrefix(lines.Text(), "*") {
						_, _ = io.WriteString(conn, text)
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// start starts a server.
func (s *script) start(kind redistest.Kind, args []string) {
	s.server = redistest.Start(s.t, kind, args...)
	s.Setenv("PORT", strconv.Itoa(s.server.Port()))
	s.use(newCrowd(s.t, s.server.Client(s.t)), s.server.Addr(), "")
}

// use has a script use a server.
func (s *script) use(c *crowd, addr, query string) {
	s.Setenv("ADDR", addr)
	s.Setenv(cli.RedisVariable, "redis://"+addr+query)
	s.crowd = c
}

// lock has somebody obtain keys, or wait for them.
func (s *script) lock(args []string) {
	var w wish
	flags := flag.NewFlagSet("lock", flag.ContinueOnError)
	wait := flags.Bool("wait", false, "")
	flags.BoolVar(&w.read, "read", false, "")
	flags.BoolVar(&w.Fenced, "fenced", false, "")
	flags.BoolVar(&w.Intent, "intent", false, "")
	flags.StringVar(&w.token, "token", "", "")
	flags.DurationVar(&w.ttl, "ttl", 0, "")
	s.Check(flags.Parse(args))
	w.who, w.keys = flags.Arg(0), flags.Args()[1:]
	if *wait {
		s.crowd.queue(w)
	} else {
		s.crowd.hold(w)
	}
}

// needProgram skips the test where a program is missing. In the gate the shells have to be there.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if shells := []string{"bash", "zsh", "fish"}; slices.Contains(shells, name) && os.Getenv("CI") == "true" {
		t.Fatalf("not run: no %s", name)
	}
	t.Skipf("not run: no %s", name)
}
