package survey

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

const (
	// manyKeys are so many that one wants to know how far a survey is.
	manyKeys = 20_000
	// metered is how far apart two lines about that are, if they do not overwrite one another.
	metered = 3 * time.Second
	// untold is how long a survey goes on before its speed says when it will be over.
	untold = time.Second
)

// All finds every key that Locks finds, sorted, and writes to w how far it is. What it returns with an error is true all the same.
func All(ctx context.Context, conn *cli.Conn, q Query, w io.Writer) (states []redislock.KeyState, err error) {
	m := newMeter(w)
	defer m.Settle()
	q.Progress = m.show
	err = Locks(ctx, conn, q, func(found []redislock.KeyState) error {
		states = append(states, found...)
		return nil
	})
	slices.SortFunc(states, func(a, b redislock.KeyState) int { return strings.Compare(a.Key, b.Key) }) // SCAN has no order
	return states, err
}

// A meter shows how far a survey is, and how long it will go on if it stays as fast as it was.
type meter struct {
	*cli.Screen // for what is shown to be taken away, by Settle
	begun, last time.Time
}

// newMeter begins to measure.
func newMeter(w io.Writer) *meter {
	return &meter{Screen: cli.NewScreen(w), begun: time.Now(), last: time.Now()}
}

// show is a Query.Progress.
func (m *meter) show(done, all int64) {
	text := "looked at " + count.Number(done) + " keys"
	if all > 0 {
		text = "looked at " + count.Number(done) + " of " + count.Number(all) + " keys" + m.left(done, all)
	}
	switch {
	case max(done, all) < manyKeys:
	case m.Live:
		m.Flash("%s", text)
	case time.Since(m.last) >= metered:
		m.last = time.Now()
		m.Line("%s", text)
	}
}

// left says how long the rest will take; nothing if that is not known yet, or hardly worth a word.
func (m *meter) left(done, all int64) string {
	took := time.Since(m.begun)
	if took < untold || done <= 0 {
		return ""
	}
	left := time.Duration(float64(took) * float64(all-done) / float64(done)).Round(time.Second)
	if left < time.Second {
		return ""
	}
	return ", about " + left.String() + " left"
}
