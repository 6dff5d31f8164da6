//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

func init() {
	fixtures["run"] = func(t *testing.T, addr string) {
		t.Helper()
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = rdb.Close() })
		_, err := redislock.New(rdb).Obtain(t.Context(), []string{"nightly"}, 30*time.Minute, &redislock.Options{
			Metadata: "host=web-3 pid=812 prog=report user=cron since=2026-03-01T09:26:53Z",
		})
		check.NoError(t, err)
	}
}

// psql is a psql for one row that has seen the number 5. As the real one does, it ends well when no row was changed, unless
// its output has to be stored and errors count. It leaves a file to say that it ran.
const psql = `#!/bin/sh
: >ran
for arg; do
  case $arg in number=*) number=${arg#number=} ;; ON_ERROR_STOP=1) failure=3 ;; esac
done
statement=$(cat)
case $statement in *"fence <= :'number'"*) least=5 ;; *) least=6 ;; esac
case $statement in *RETURNING*'\gset') ;; *) exit 0 ;; esac
[ "$number" -ge "$least" ] || exit "${failure:-0}"
`

// The script that writes to a database fails when its number is stale, and does nothing without a number.
func TestRunPageFences(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("not run: no shell: " + err.Error())
	}
	match := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n[^`]*psql.*?)```").FindStringSubmatch(readPage(t))
	if match == nil {
		t.Fatal("the page has no script that runs psql")
	}
	for name, c := range map[string]struct {
		number string
		fails  bool
		runs   bool
	}{
		"newer":     {"REDISLOCK_FENCE=6", false, true},
		"same":      {"REDISLOCK_FENCE=5", false, true},
		"older":     {"REDISLOCK_FENCE=4", true, true},
		"empty":     {"REDISLOCK_FENCE=", true, false},
		"no number": {"NOTHING=", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check.NoError(t, os.WriteFile(filepath.Join(dir, "psql"), []byte(psql), 0o700))
			cmd := exec.CommandContext(t.Context(), shell, "-c", match[1], "recount", "9", "41")
			cmd.Dir, cmd.Env = dir, []string{c.number, "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			_, noFile := os.Stat(filepath.Join(dir, "ran"))
			if fails, runs := err != nil, noFile == nil; fails != c.fails || runs != c.runs {
				t.Errorf("got failure %t, psql ran %t, want %t, %t: %v\n%s", fails, runs, c.fails, c.runs, err, out)
			}
		})
	}
}
