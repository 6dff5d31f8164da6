package quick_test

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock/internal/shown"
)

// A time is rounded towards zero, whatever its unit, and is zero only if it is.
func TestShownDuration(t *testing.T) {
	t.Parallel()
	const ms, day = time.Millisecond, 24 * time.Hour
	for of, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", 999: "999ns",
		1_000: "1.0µs", 9_999: "9.9µs", 10_999: "10µs", 999_999: "999µs",
		ms: "1.0ms", 4_290_000: "4.2ms", 350 * ms: "350ms", time.Second - 1: "999ms",
		time.Second: "1.0s", 9_990 * ms: "9.9s", 10 * time.Second: "10s", time.Minute - 1: "59s",
		time.Minute: "1m00s", 90_500 * ms: "1m30s", 10*time.Minute - 1: "9m59s", time.Hour - 1: "59m",
		time.Hour: "1h00m", 200 * time.Minute: "3h20m", 10 * time.Hour: "10h", day - 1: "23h",
		day: "1d00h", 4*day + 5*time.Hour: "4d05h", 10*day - 1: "9d23h", 10 * day: "10d", math.MaxInt64: "106751d",
		-1: "-1ns", -1999 * ms: "-1.9s", -25 * time.Hour: "-1d01h", math.MinInt64: "-106751d",
	} {
		got := shown.Duration(of)
		if got != want {
			t.Errorf("got %s of %v, want %s", got, of, want)
		}
		if width := utf8.RuneCountInString(got); of >= 0 && of < 9_999*day && width > 5 {
			t.Errorf("%s has %d characters, want five at most", got, width)
		}
	}
}
