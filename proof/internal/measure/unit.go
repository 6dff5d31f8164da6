package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Unit says how a figure is written, and is the word behind it if it has one.
type Unit string

// The units that there are.
const (
	Count  Unit = ""
	Micros Unit = "µs" // written in the unit in which it has up to three digits before the point
	Bytes  Unit = "bytes"
	Times  Unit = "×"
	PerSec Unit = "a second"
)

// Format writes a figure with two digits, or all that stand before the point. Parts of a count are
// told to a tenth.
func (u Unit) Format(value float64) string {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return "?"
	case u == Times:
		return strconv.FormatFloat(value, 'f', 2, 64) + " ×"
	case u == Micros && value >= 1e6:
		return digits(value/1e6) + " s"
	case u == Micros && value >= 1e3:
		return digits(value/1e3) + " ms"
	case u == PerSec:
		return grouped(strconv.FormatFloat(value, 'f', 0, 64))
	case u == Count:
		return grouped(strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0"))
	default:
		return grouped(digits(value)) + " " + string(u)
	}
}

func digits(value float64) string {
	places := 0
	if value > 0 && value < 100 {
		places = 1 - int(math.Floor(math.Log10(value)))
	}
	text := strconv.FormatFloat(value, 'f', min(places, 2), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// grouped parts the thousands of a number that has more than four digits.
func grouped(text string) string {
	whole, part, found := strings.Cut(text, ".")
	if len(whole) < 5 {
		return text
	}
	if found && len(whole) > 4 {
		found = false // a tenth of a ten thousand says nothing
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + " " + whole[i:]
	}
	if found {
		return fmt.Sprint(whole, ".", part)
	}
	return whole
}
