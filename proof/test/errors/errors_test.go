// Package errors_test has the tests of what errors say and how they are told apart, whatever the server and its version.
package errors_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// place is what Redis 7 appends to errors that arise inside a script.
const place = " script: 4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d, on @user_script:12."

// call6 is what stands before such errors of Redis 6, behind words of its own.
const call6 = " (call to f_4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d): @user_script:12: "

// marked is a token that must not be seen anywhere.
const marked = "tok3n-MARKED-s3cret"

// serverErrors are the strings of RELIABILITY 6.5 and what they mean.
var serverErrors = []struct {
	err      error
	class    class
	sentinel error
}{
	{world.Refusal("OOM command not allowed when used memory > 'maxmemory'."), final, nil},
	{world.Refusal("OOM command not allowed when used memory > 'maxmemory'." + place), final, nil},
	{world.Refusal("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), passing, nil},
	{world.Refusal("LOADING Redis is loading the dataset in memory"), passing, nil},
	{world.Refusal("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), passing, nil},
	{world.Refusal("READONLY You can't write against a read only replica."), passing, nil},
	{world.Refusal("READONLY You can't write against a read only replica." + place), passing, nil},
	{world.Refusal("NOREPLICAS Not enough good replicas to write."), passing, nil},
	{world.Refusal("NOREPLICAS Not enough good replicas to write." + place), passing, nil},
	{world.Refusal("NOSCRIPT No matching script. Please use EVAL."), passing, nil},
	{world.Refusal("CLUSTERDOWN The cluster is down"), passing, nil},
	{world.Refusal("CLUSTERDOWN Hash slot not served"), passing, nil},
	{world.Refusal("MOVED 3999 127.0.0.1:6381"), passing, nil},
	{world.Refusal("ASK 3999 127.0.0.1:6381"), passing, nil},
	{world.Refusal("TRYAGAIN Multiple keys request during rehashing of slot"), passing, nil},
	{world.Refusal("CROSSSLOT Keys in request don't hash to the same slot"), final, redislock.ErrCrossSlot},
	{world.Refusal("NOPERM this user has no permissions to run the 'evalsha' command"), final, nil},
	{world.Refusal("NOPERM this user has no permissions to access one of the keys used as arguments"), final, nil},
	{world.Refusal("ERR max number of clients reached"), passing, nil},
	{world.Refusal("WRONGPASS invalid username-password pair or user is disabled."), final, nil},
	{world.Refusal("NOAUTH Authentication required."), final, nil},
	{world.Refusal("ERR The user executing the script can't run this command or subcommand" + place), final, nil},
	{world.Refusal("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments" + place), final, nil},
	{world.Refusal("ERR The user executing the script can't publish to the channel mentioned in the command" + place), final, nil},
	{world.Refusal("NOPERM ACL failure in script: User app has no permissions to run the 'set' command" + place), final, nil},
	{world.Refusal("WRONGTYPE Operation against a key holding the wrong kind of value" + place), final, nil},
	{world.Refusal("ERR invalid expire time in 'pexpire' command" + place), final, nil},
	{world.Refusal("ERR user_script:12: attempt to index a nil value (local 'x')" + place), final, nil},
	{world.Refusal("ERR Error running script (call to f_4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d): @user_script:12: WRONGTYPE Operation"), final, nil},
	{world.Refusal("ERR Script killed by user with SCRIPT KILL." + place), passing, nil},
	{world.Refusal("ERR Script attempted to access a non local key in a cluster node" + place), unknown, redislock.ErrUnknownOutcome},
	{world.Refusal("ERR Script attempted to access a slot not served" + place), unknown, redislock.ErrUnknownOutcome},
	{world.Refusal("ERR Attempted to access a non local key in a cluster node script: on @user_script:12."), unknown, redislock.ErrUnknownOutcome},
	{world.Refusal("READONLY You can't write against a read only replica. script: on @user_script:12."), passing, nil},
	{world.Refusal("ERR Error running script" + call6 + "@user_script: 12: -READONLY You can't write against a read only replica."), passing, nil},
	{world.Refusal("ERR Error running script" + call6 + "Script killed by user with SCRIPT KILL..."), passing, nil},
	{world.Refusal("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"), unknown, redislock.ErrUnknownOutcome},
	{world.Refusal("ERR unknown command 'evalsha', with args beginning with: '4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d' '1' 'k' '" + marked + "' "), final, nil},
	{world.Refusal("redis: nil"), final, nil},
	{io.EOF, unknown, redislock.ErrUnknownOutcome},
	{io.ErrUnexpectedEOF, unknown, redislock.ErrUnknownOutcome},
	{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, unknown, redislock.ErrUnknownOutcome},
	{&net.OpError{Op: "write", Err: syscall.EPIPE}, unknown, redislock.ErrUnknownOutcome},
	{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, unknown, redislock.ErrUnknownOutcome},
	{fmt.Errorf("pool: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), passing, nil},
	{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, passing, nil},
	{fmt.Errorf("pool: %w", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}), passing, nil},
	{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, passing, nil},                         // handshake failure
	{&net.OpError{Op: "remote error", Err: tls.AlertError(45)}, passing, nil},                         // expired certificate
	{&net.OpError{Op: "remote error", Err: tls.AlertError(116)}, passing, nil},                        // certificate required
	{&net.OpError{Op: "remote error", Err: tls.AlertError(20)}, unknown, redislock.ErrUnknownOutcome}, // bad record MAC
	{redis.ErrPoolTimeout, passing, nil},
	{redis.ErrClosed, final, redis.ErrClosed},
	{wire.ErrNotSent, final, wire.ErrNotSent},
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for _, row := range serverErrors {
		t.Run(row.err.Error(), func(t *testing.T) {
			t.Parallel()
			got, err := obtained(t, row.err)
			if got != row.class {
				t.Errorf("got class %d of %v, want %d", got, err, row.class)
			}
			if got, wrapped := obtained(t, fmt.Errorf("wrapped: %w", row.err)); got != row.class {
				t.Errorf("got class %d of %v, want %d", got, wrapped, row.class)
			}
			if !errors.Is(err, row.err) {
				t.Errorf("got error %v, want one that is its cause", err)
			}
			if row.sentinel != nil && !errors.Is(err, row.sentinel) {
				t.Errorf("got error %v, want one that is %v", err, row.sentinel)
			}
			for _, sentinel := range []error{
				redislock.ErrNotObtained, redislock.ErrLockNotHeld, redislock.ErrUnknownOutcome, redislock.ErrCrossSlot,
			} {
				if !errors.Is(sentinel, row.sentinel) && errors.Is(err, sentinel) {
					t.Errorf("got error %v, want one that is not %v", err, sentinel)
				}
			}
			wantLegible(t, err, "order:7")
		})
	}
}

// A class is what becomes of an Obtain whose requests are answered with an error.
type class int

const (
	final   class = iota // it asks once
	passing              // it asks as often as its strategy says
	unknown              // the same, and in the end it does not know what it has done
)

// classOf is the class of an Obtain that might ask three times.
func classOf(err error, asked int) class {
	switch {
	case errors.Is(err, redislock.ErrUnknownOutcome):
		return unknown
	case asked == 3:
		return passing
	}
	return final
}

// answering makes a Redis client that has an answer to every command.
func answering(t *testing.T, answer error) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool { return check.Answer(cmd, answer) }})
	return rdb
}

// obtained is what becomes of an Obtain of two keys to which the server answers so.
func obtained(t *testing.T, answer error) (is class, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		client := redislock.New(answering(t, answer), redislock.WithHooks(redislock.Hooks{
			Refused: func(_ context.Context, e redislock.Event) { asked = e.Attempts },
		}))
		defer client.Close()
		_, err = client.Obtain(t.Context(), []string{"order:7", "stock:9"}, time.Minute, &redislock.Options{
			RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
		})
		is = classOf(err, asked)
	})
	return is, err
}

// wantLegible checks that an error can be shown to whoever is on call: it names the key and has no
// token, and nothing that only the author of a script can read.
func wantLegible(t *testing.T, err error, key string) {
	t.Helper()
	text := err.Error()
	if !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, key) {
		t.Errorf("got error %q, want one that names %q", text, key)
	}
	secrets := []string{"user_script", "4e6d2b1f0c9a", marked}
	for _, script := range proto.Scripts() {
		secrets = append(secrets, script.SHA())
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("got error %q, want one without %q", text, secret)
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("got error %q, want valid UTF-8", text)
	}
}
