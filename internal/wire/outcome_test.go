package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// What an error says of the request, and whether it may be executed later.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want Outcome
		come bool
	}{
		{io.EOF, Unknown, true},
		{&net.OpError{Op: "read", Err: io.EOF}, Unknown, true},
		{&net.OpError{Op: "dial", Err: io.EOF}, Passing, false},
		{redis.ErrPoolTimeout, Passing, false},
		{redis.ErrPoolExhausted, Passing, false},
		{redis.ErrClosed, Final, false},
		{ErrNotSent, Final, false},
		{errGone, Final, false},
		{errNoConnection, Unknown, false},
		{refused("LOADING Redis is loading the dataset in memory"), Passing, false},
		{refused("ERR max number of clients reached"), Passing, false},
		{refused("ERR Script killed by user with SCRIPT KILL."), Passing, false},
		{refused("UNBLOCKED force unblock from blocking operation, instance state changed"), Unknown, true},
		{refused("ERR Script attempted to access a non local key in a cluster node script: 1f, on @user_script:7."), Unknown, true},
		{refused("ERR Script attempted to access a slot not served script: 1f, on @user_script:7."), Unknown, true},
		{refused("NOPERM this user has no permissions"), Final, false},
		{refused("WRONGTYPE Operation script: 1f, on @user_script:7."), Final, false},
		{refused("ERR upstream failure"), Final, true},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%v: got outcome %d, want %d", c.err, got, c.want)
		}
		if got := MayCome(c.err); got != c.come {
			t.Errorf("%v: may come later: %t", c.err, got)
		}
		if got := MayCome(errors.Join(c.err)); got != c.come {
			t.Errorf("%v, wrapped: may come later: %t", c.err, got)
		}
	}
}

// A handshake that fails leaves no connection over which a request could have been sent.
func TestHandshake(t *testing.T) {
	t.Parallel()
	remote := func(text string) error { return &net.OpError{Op: "remote error", Err: errors.New(text)} }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&tls.CertificateVerificationError{Err: io.EOF}, true},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, true},
		{tls.RecordHeaderError{Msg: "unsupported SSLv2 handshake received"}, false},
		{remote("tls: bad certificate"), true},
		{remote("tls: unknown certificate authority"), true},
		{remote("tls: handshake failure"), true},
		{remote("tls: protocol version not supported"), true},
		{remote("tls: internal error"), false},
		{remote("bad certificate"), false},
		{&net.OpError{Op: "remote error"}, false},
		{&net.OpError{Op: "read", Err: errors.New("tls: bad certificate")}, false},
		{io.EOF, false},
	} {
		if got := isHandshake(c.err); got != c.want {
			t.Errorf("%v: got %t", c.err, got)
		}
		if got := MayCome(fmt.Errorf("wrapped: %w", c.err)); got == c.want {
			t.Errorf("%v: may come later: %t", c.err, got)
		}
	}
}

// An answer of the server is shown without the place in the script; any other error is shown as it is.
func TestLegible(t *testing.T) {
	t.Parallel()
	answer := refused("ERR something script: 1f, on @user_script:7.")
	if err := Legible(fmt.Errorf("wrapped: %w", answer)); err.Error() != "ERR something" || !errors.Is(err, answer) {
		t.Errorf("got %q", err)
	}
	for _, err := range []error{nil, io.EOF} {
		if got := Legible(err); got != err { //nolint:errorlint // it is this value
			t.Errorf("got %v of %v", got, err)
		}
	}
}
