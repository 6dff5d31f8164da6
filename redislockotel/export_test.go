package redislockotel

import "github.com/seed-14de3678/redislock"

// ServerCodes and the others are what the tests of the document compare it with.
var (
	ServerCodes = serverCodes
	MostNames   = mostNames
)

// Remembered makes hooks, and a function that says how many locks and waiting Obtains they remember.
func Remembered(opts ...Option) (redislock.Hooks, func() (holds, waits int)) {
	o, err := newObserver(newConfig(opts))
	if err != nil {
		panic(err)
	}
	return o.hooks(), func() (holds, waits int) {
		o.ledger.mu.Lock()
		defer o.ledger.mu.Unlock()
		return len(o.ledger.holds), len(o.ledger.waits)
	}
}
