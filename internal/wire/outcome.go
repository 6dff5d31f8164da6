package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ErrNotSent is the outcome of a call if the caller has gone before it was sent; of the latest try, if there were more.
var ErrNotSent = errors.New("not sent")

// An Outcome says what a failed call may have done.
type Outcome int

const (
	// Final says that the server refused the call, and would refuse it again.
	Final Outcome = iota
	// Passing says that nothing was done, but soon it may work.
	Passing
	// Unknown says that the call may have been executed, or may be later.
	Unknown
)

// passingReplies are the first words of server errors that end by themselves. The command was not executed. It may be
// once the server has loaded, failed over or finished its script.
var passingReplies = map[string]bool{
	"LOADING": true, "READONLY": true, "MASTERDOWN": true, "TRYAGAIN": true, "CLUSTERDOWN": true,
	"BUSY": true, "NOREPLICAS": true, "MOVED": true, "ASK": true, "NOSCRIPT": true,
}

// Classify sorts the error of a call. It sorts a server's error by its first word, because servers append the place in
// the script to errors from inside one.
func Classify(err error) Outcome {
	if answer, ok := errors.AsType[redis.Error](err); ok {
		text := legibleAnswer(answer)
		first, _, _ := strings.Cut(text, " ")
		switch {
		case passingReplies[first],
			strings.HasPrefix(text, "ERR max number of clients reached"),
			strings.HasPrefix(text, "ERR Script killed by user"):
			return Passing
		case first == "UNBLOCKED", movedInScript.regexp().MatchString(text):
			return Unknown
		}
		return Final
	}
	switch {
	case errors.Is(err, redis.ErrClosed), errors.Is(err, ErrNotSent):
		return Final
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return Passing
	}
	if noConnection(err) {
		return Passing
	}
	return Unknown
}

// MayCome reports whether a request that has ended with this error may still be executed.
func MayCome(err error) bool {
	switch Classify(err) {
	case Passing:
		return false
	case Unknown:
		return !errors.Is(err, errNoConnection)
	}
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false // it was not sent
	}
	text := answer.Error()
	return !refusedWhole(err) && !withinScriptError.regexp().MatchString(text) && !afterScriptError.regexp().MatchString(text)
}

// refusedWhole reports whether the server refused to run the script at all, or its first write.
func refusedWhole(err error) bool {
	for _, word := range []string{"CROSSSLOT", "NOPERM", "NOAUTH", "OOM", "MISCONF"} {
		if redis.HasErrorPrefix(err, word) {
			return true
		}
	}
	return ForbidsScripts(err)
}

// isAnswer reports whether an error is an answer of the server.
func isAnswer(err error) bool {
	_, answer := errors.AsType[redis.Error](err)
	return answer
}

// A pattern is compiled when it is first needed, which is when a server refuses something.
type pattern struct {
	text string
	once sync.Once
	made *regexp.Regexp
}

func (p *pattern) regexp() *regexp.Regexp {
	p.once.Do(func() { p.made = regexp.MustCompile(p.text) })
	return p.made
}

// movedInScript is what a Cluster server says when a slot leaves it while a script runs: what the script did before
// stays done.
var movedInScript = pattern{text: `ttempted to access a (non local key|slot not served)`}

// A serverError shows an error of the server without the place in the script, and without the arguments that a server
// repeats if it does not know a command: one of them is a secret.
type serverError struct {
	text   string
	answer redis.Error
}

// NewServerError makes a serverError of an answer.
func NewServerError(answer redis.Error) error {
	return &serverError{text: legibleAnswer(answer), answer: answer}
}

// Legible is an error without the parts that only the authors of a script can read.
func Legible(err error) error {
	if answer, ok := errors.AsType[redis.Error](err); ok {
		return NewServerError(answer)
	}
	return err
}

func (e *serverError) Error() string { return e.text }

func (e *serverError) Unwrap() error { return e.answer }

// The text that servers add to an error inside a script. Redis 7 and later and Valkey up to 9.0 append the script and
// the line, Valkey 9.1 the line alone. Redis 6 puts them in front of the error, behind words of its own. An error of
// Lua itself has the line in its text, too.
const lineOfScript = `@?\b(?:user_script|enable_strict_lua|err_handler_def): ?\d+: `

var (
	beforeScriptError = pattern{text: `^(?:ERR )?(?:Error running script(?: \(call to \w+\):|(?: \w+)?,) *)?(?:` + lineOfScript + `)*`}
	withinScriptError = pattern{text: lineOfScript}
	afterScriptError  = pattern{text: ` script:(?: \w*,)? on \S*?: ?-?\d*\.?\s*$`}
	startsWithCode    = pattern{text: `^[A-Z]{2,} `}
)

// legibleAnswer is the text of a server's error as [serverError] shows it. What a server puts in front of
// an error has the code ERR, and hides the error's own if it has one.
func legibleAnswer(answer redis.Error) string {
	text, _, _ := strings.Cut(answer.Error(), ", with args beginning with")
	text = afterScriptError.regexp().ReplaceAllString(text, "")
	before := beforeScriptError.regexp().FindString(text)
	if before != "" && before != "ERR " {
		text = strings.TrimPrefix(strings.TrimSpace(text[len(before):]), "-")
		if !startsWithCode.regexp().MatchString(text) {
			text = "ERR " + text
		}
	}
	return withinScriptError.regexp().ReplaceAllString(text, "")
}

// Reworded says an answer of the server in other words.
func Reworded(text string, answer redis.Error) error { return &serverError{text, answer} }

// noConnection reports whether an error says that there was no connection over which a request could be sent.
func noConnection(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || isHandshake(err)
}

// isHandshake reports whether an error ended the handshake of TLS: one side does not trust the certificate of the other,
// or does not speak the same version. A server that rejects a certificate may say so when the client has written its first
// bytes already, but it reads none of them.
func isHandshake(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if header, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return strings.Contains(header.Msg, "first record")
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" || op.Err == nil {
		return false
	}
	alert, ok := strings.CutPrefix(op.Err.Error(), "tls: ")
	return ok && (strings.Contains(alert, "certificate") || alert == "handshake failure" || alert == "protocol version not supported")
}

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
