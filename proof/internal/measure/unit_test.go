package measure

import (
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		unit  Unit
		value float64
		want  string
	}{
		{Count, 5, "5"},
		{Count, 5.04, "5"},
		{Count, 67.25, "67.2"},
		{Count, 3346, "3346"},
		{Count, 12027.4, "12 027"},
		{Count, 1234567, "1 234 567"},
		{Micros, 0, "0 µs"},
		{Micros, 6.83, "6.8 µs"},
		{Micros, 39.4, "39 µs"},
		{Micros, 449.1, "449 µs"},
		{Micros, 1873, "1.9 ms"},
		{Micros, 166e3, "166 ms"},
		{Micros, 1.4e6, "1.4 s"},
		{Bytes, 213.7, "214 bytes"},
		{Bytes, 31000, "31 000 bytes"},
		{Times, 1.304, "1.30 ×"},
		{PerSec, 7737.6, "7738"},
		{PerSec, 13438.2, "13 438"},
		{Count, math.NaN(), "?"},
	} {
		if got := test.unit.Format(test.value); got != test.want {
			t.Errorf("%v of %q: got %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}
