package wire

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// runsScript is a command that runs a script, as servers name it in an error.
var runsScript = pattern{text: `\beval(sha)?\b`}

// ForbidsScripts reports whether an error says that scripts cannot be run. The command was renamed or disabled, the
// user has no right to it, or a service or a proxy does not pass it on. Each of them has words of its own for that, but
// all name the command. Nothing was executed then.
func ForbidsScripts(err error) bool {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	text := strings.ToLower(legibleAnswer(answer))
	return !strings.HasPrefix(text, "noscript") && isDenial(text) && runsScript.regexp().MatchString(text)
}

// isDenial reports whether an error, in lower case, says that a command is not available.
func isDenial(text string) bool {
	return slices.ContainsFunc([]string{
		"noperm ", "unknown command", "unsupported", "not support", "not allowed", "not permitted", "not available", "disabled",
	}, func(words string) bool { return strings.Contains(text, words) })
}

// tooOld is what servers before Redis 6.2 say of the scripts. Redis 4 does not let them write after they have read the
// clock, and Redis 5 and 6.0 take a ZRANGE by scores for one by ranks. Only such servers, and 6.2, begin an error with
// a call.
var tooOld = pattern{text: `Write commands not allowed after non deterministic commands|` +
	`^ERR Error running script \(call to \w+\): .*ERR (value is not an integer or out of range|syntax error)`}

// IsTooOld reports whether an error says that the server is too old for the scripts.
func IsTooOld(err error) bool {
	answer, ok := errors.AsType[redis.Error](err)
	return ok && tooOld.regexp().MatchString(answer.Error())
}
