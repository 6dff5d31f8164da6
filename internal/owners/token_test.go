package owners

import (
	"encoding/base64"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"
)

// stampOf writes a time as a token has it.
func stampOf(ms uint64) string {
	raw := binary.BigEndian.AppendUint64(nil, ms)
	return base64.RawURLEncoding.EncodeToString(raw[2:])
}

func TestMadeAt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	milli := func(at time.Time) uint64 { return uint64(at.UnixMilli()) }
	for name, test := range map[string]struct {
		stamp string
		want  int64 // ms; 0: no time
	}{
		"now":              {stampOf(milli(now)), now.UnixMilli()},
		"early":            {stampOf(1735689600000), 1735689600000},
		"before":           {stampOf(1735689599999), 0},
		"of virtual time":  {stampOf(946684800000), 0},
		"a clock ahead":    {stampOf(milli(now.Add(23 * time.Hour))), now.Add(23 * time.Hour).UnixMilli()},
		"later":            {stampOf(milli(now.Add(25 * time.Hour))), 0},
		"the last":         {stampOf(1<<48 - 1), 0},
		"nothing":          {"", 0},
		"short":            {"AZsR", 0},
		"a whole token":    {NewToken(), 0},
		"longer":           {base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, milli(now))), 0},
		"other characters": {"AZsR|xyz", 0},
	} {
		got := MadeAt(test.stamp)
		if test.want == 0 && !got.IsZero() || test.want != 0 && got.UnixMilli() != test.want {
			t.Errorf("%s: got %v, want that of %d", name, got, test.want)
		}
	}
}

func TestTokenSaysWhen(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Millisecond)
	if got := MadeAt(NewToken()[:timeLength]); got.Before(before) || got.After(time.Now()) {
		t.Errorf("a token of now says %v", got)
	}
	synctest.Test(t, func(t *testing.T) { // in the year 2000
		if got := MadeAt(NewToken()[:timeLength]); !got.Equal(time.Now()) {
			t.Errorf("got %v, want %v", got, time.Now())
		}
	})
}
