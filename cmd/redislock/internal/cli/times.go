package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Time declares a flag that is a time, such as 30s.
func Time(flags *pflag.FlagSet, d *time.Duration, name string, otherwise time.Duration, usage string) {
	*d = otherwise
	flags.Var((*timeValue)(d), name, usage)
}

// Seconds declares one that may be a number of seconds as well, as other tools have it.
func Seconds(flags *pflag.FlagSet, d *time.Duration, name, letter, usage string) {
	flags.VarP(secondsValue{(*timeValue)(d)}, name, letter, usage)
}

type timeValue time.Duration

func (v *timeValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

func (v *timeValue) Type() string { return "time" }

func (v *timeValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if _, number := strconv.ParseFloat(text, 64); err != nil && number == nil {
		return fmt.Errorf("a time has a unit: %ss?", text)
	}
	if err != nil {
		return errors.New("a time is such as 30s, 1m30s or 20ms")
	}
	*v = timeValue(d)
	return nil
}

type secondsValue struct{ *timeValue }

func (v secondsValue) Set(text string) error {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	}
	return v.timeValue.Set(text)
}
