package cli

import (
	"strings"
	"testing"
	"time"
)

func TestSomebody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		metadata, caller string
		most             int
		want             string
	}{
		{"", "", 0, "somebody"},
		{"", "job 7", 0, "caller=job 7"},
		{"host=a", "", 0, "host=a"},
		{"host=a\n", "\x1b", 0, `"host=a\n" caller="\x1b"`},
		{strings.Repeat("m", 500), "o", 11, "mmmmm…mmmmm caller=o"},
	} {
		if got := Somebody(tt.metadata, tt.caller, tt.most); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for at, want := range map[time.Time]string{
		{}: "-", now: now.Format("15:04:05"), now.AddDate(0, -1, 0): now.AddDate(0, -1, 0).Format("Jan 02 15:04"),
		now.AddDate(-2, 0, 0): now.AddDate(-2, 0, 0).Format("2006-01-02"),
	} {
		if got := Clock(at); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := Moment(time.Time{}); got != nil {
		t.Errorf("got %s", *got)
	}
	if got := *Moment(time.Unix(0, 5e8)); got != "1970-01-01T00:00:00.500Z" {
		t.Errorf("got %s", got)
	}
}
