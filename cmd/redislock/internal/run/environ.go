package run

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// The variables that a command finds in its environment.
const (
	fenceVariable = "REDISLOCK_FENCE"
	keysVariable  = "REDISLOCK_KEYS"
)

// environ returns the environment of the command. What an outer redislock run has set there is replaced. Without redis the URL of
// the server is left out.
func environ(own, keys []string, fence int64, redis bool) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == fenceVariable || name == keysVariable || !redis && name == cli.RedisVariable
	})
	if fence > 0 {
		env = append(env, fenceVariable+"="+strconv.FormatInt(fence, 10))
	}
	return append(env, keysVariable+"="+shellWords(keys))
}

// shellWords joins words so that a shell takes them apart again.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = cli.Quote(word)
	}
	return strings.Join(quoted, " ")
}

// metadata says who holds the lock, in the form of redislock.InstanceMetadata.
func metadata(name, path string, since time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	name = cmp.Or(name, filepath.Base(path))
	return fmt.Sprintf("host=%s pid=%d prog=%s user=%s since=%s",
		word(host), os.Getpid(), word(name), word(userName()), since.UTC().Format(time.RFC3339))
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// word keeps a value one word of key=value text.
func word(s string) string {
	special := func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(" \"=|", r) }
	if s == "" || strings.ContainsFunc(s, special) {
		return strconv.Quote(s)
	}
	return s
}
