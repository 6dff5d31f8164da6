package redislock

import (
	"runtime"

	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A carrying is the part of a Release that may give its keys to the next Obtain of the Client.
type carrying struct {
	from  any             // the lock
	line  *local.Line     // of the Obtains; nil: there is none, or the first try was sent
	after <-chan struct{} // closed when the hooks know that the lock has ended; nil without hooks
	to    *local.Waiter   // to whom a try that is under way gives them
	may   bool            // some try may
}

// choose has a Release give its keys to the next Obtain, if it may. Only its first try does: an answer to a later one would
// not say which of them has given the keys.
func (r *call) choose(may bool) {
	line := r.gives.line
	if r.gives.line = nil; line == nil || !may {
		r.run.Give(nil)
		return
	}
	if w := line.Choose(r.gives.from, r.gives.after); w != nil {
		r.run.Give(&w.Next)
		r.gives.to, r.Alone = w, true
	}
}

// given tells the next Obtain what a try has done that was to give it the keys. mayCome is that of After.
func (r *call) given(mayCome bool) {
	to := r.gives.to
	r.gives.to = nil
	if numbers, is := r.run.IsGiven(r.Reply); is && r.Err == nil {
		to.Give(local.Grant{Sent: r.Sent, Numbers: numbers})
		runtime.Gosched() // the next one goes on first, because others wait for it
		return
	}
	known := r.Err == nil && proto.IsAnswer(r.Reply) || r.Err != nil && wire.Classify(r.Err) == wire.Passing
	to.Refuse(mayCome || !known) // a script that has failed may have given some of them before
}
