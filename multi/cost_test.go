package multi_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	count "github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
)

// Nobody looks through the readers of a key for the token of a part: it was made for this lock, as that of a lock of one
// part is.
func TestReadersAreNotLookedThrough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	admin, client := server.Client(t), redislock.New(server.Client(t))
	keys := []string{"a", "b", "c"}
	others, err := client.ObtainRead(t.Context(), keys, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	counted := func(parts ...multi.Part) int {
		t.Helper()
		var n int
		for range 2 { // the first time the server learns the scripts
			var lock *multi.Lock
			n = count.Counted(t, admin, func() { lock = must[*multi.Lock](t)(multi.Obtain(t.Context(), parts, time.Minute, nil)) }).InScripts().Total()
			noError(t, lock.Release(t.Context()))
		}
		return n
	}
	var parts []multi.Part
	for _, key := range keys { // with a Client of its own, or they would be one part
		parts = append(parts, multi.Part{Place: key, Client: redislock.New(server.Client(t)), Set: redislock.Set{Read: []string{key}}})
	}
	one, all := counted(parts[0]), counted(parts...)
	if all > len(keys)*one {
		t.Errorf("%d parts took %d commands, and one takes %d", len(keys), all, one)
	}
	if err := others.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}
