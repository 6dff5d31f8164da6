package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

// A command that is proposed names the same server and keys, as they were written, but never a password.
func TestPropose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"--redis", "cache-1"}, " --redis cache-1"},
		{[]string{"--redis", "cache-1:6380", "--prefix", "lock: "}, " --redis cache-1:6380 --prefix 'lock: '"},
		{[]string{"--redis", "redis://u@cache-1/3"}, " --redis redis://u@cache-1/3"},
		{[]string{"--redis", "redis://u:secret@cache-1/3"}, " --redis redis://u:xxxxx@cache-1/3"},
		{[]string{"--redis", ":secret@cache-1"}, " --redis redis://:xxxxx@cache-1"},
		{[]string{"--redis", "unix:///run/redis.sock"}, " --redis unix:///run/redis.sock"},
		{
			[]string{"--redis", "redis://:secret@h:26379?sentinel_password=secret&master_name=m"},
			" --redis 'redis://:xxxxx@h:26379?master_name=m&sentinel_password=xxxxx'",
		},
		{[]string{"--redis", "redis://h?sentinel_password=secret&master_name=m"}, " --redis 'redis://h?master_name=m&sentinel_password=xxxxx'"},
	} {
		var r Redis
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		r.Define(flags)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if got := r.Propose("ls", "KEY"); got != "redislock ls"+tt.want+" KEY" {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
	}
}
