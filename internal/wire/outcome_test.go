package wire

import (
	"errors"
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
