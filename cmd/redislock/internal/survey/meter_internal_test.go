package survey

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// A survey of many keys says now and then how far it is, and how long it will go on; one of few keys says nothing.
func TestMeter(t *testing.T) {
	t.Parallel()
	const want = "looked at 300 000 of 1 000 000 keys, about 7s left\n" +
		"looked at 600 000 of 1 000 000 keys, about 4s left\n" +
		"looked at 900 000 of 1 000 000 keys, about 1s left\n" +
		"looked at 1 000 000 of 1 000 000 keys\n" + // and none is left
		"looked at 30 000 keys\n"
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		m := newMeter(&b)
		for done := range int64(10) {
			m.show(done*100_000, 1_000_000)
			m.show(done, 1000)
			time.Sleep(time.Second)
		}
		time.Sleep(metered)
		m.show(1_000_000, 1_000_000)
		time.Sleep(metered)
		m.show(30_000, 0)
		m.Settle()
		if got := b.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, row := range []struct {
			took      time.Duration
			done, all int64
			want      string
		}{
			{untold / 2, 10_000, 100_000, ""}, // too soon to say
			{10 * time.Second, 0, 100_000, ""},
			{10 * time.Second, 99_999, 100_000, ""},
			{10 * time.Second, 45_000, 100_000, ", about 12s left"},
			{time.Minute, 10_000, 100_000, ", about 9m0s left"},
		} {
			m.begun = time.Now().Add(-row.took)
			if got := m.left(row.done, row.all); got != row.want {
				t.Errorf("%d of %d after %v: got %q, want %q", row.done, row.all, row.took, got, row.want)
			}
		}
	})
}
