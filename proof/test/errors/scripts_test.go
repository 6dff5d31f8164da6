package errors_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// shown is what a TTL to which the server answers with an error shows of that.
func shown(t *testing.T, answer error) (text string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := redislock.New(answering(t, answer))
		defer client.Close()
		_, err := client.Attach([]string{"k"}, "token").TTL(t.Context())
		if err == nil {
			t.Fatalf("%q: got no error", answer)
		}
		text = strings.TrimPrefix(err.Error(), `redislock: ttl "k": `)
	})
	return text
}

// What servers answer, word for word, and what is shown of it.
func TestErrorsInScripts(t *testing.T) {
	t.Parallel()
	const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	for said, want := range map[string]string{
		// Redis 7 and 8, Valkey up to 9.0.
		wrongType + place: wrongType,
		"OOM command not allowed when used memory > 'maxmemory'." + place:                      "OOM command not allowed when used memory > 'maxmemory'.",
		"ERR user_script:12: attempt to index local 'x' (a nil value)" + place:                 "ERR attempt to index local 'x' (a nil value)",
		"ERR user_script:12: user_script:3: attempt to compare" + place:                        "ERR attempt to compare",
		"ERR user_script:12: " + wrongType + place:                                             wrongType,
		"ERR ACL failure in script: No permissions to access a key" + place:                    "ERR ACL failure in script: No permissions to access a key",
		"ERR Error compiling script (new function): user_script:1: '=' expected near 'is'":     "ERR Error compiling script (new function): '=' expected near 'is'",
		"ERR Error running script 4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d, not enough memory": "ERR not enough memory",
		// Valkey 9.1.
		wrongType + " script: on @user_script:201.":                                              wrongType,
		"ERR user_script:1: attempt to index local 'x' (a nil value) script: on @user_script:1.": "ERR attempt to index local 'x' (a nil value)",
		"ERR nil script: on @user_script:1.":                                                     "ERR nil",
		"ERR Error running script, not enough memory":                                            "ERR not enough memory",
		// Redis 6.
		"ERR Error running script" + call6 + wrongType:                                                        wrongType,
		"ERR Error running script" + call6 + "ERR XX and NX options at the same time are not compatible":      "ERR XX and NX options at the same time are not compatible",
		"ERR Error running script" + call6 + "@user_script: 12: -OOM command not allowed. ":                   "OOM command not allowed.",
		"ERR Error running script" + call6 + "@user_script: 12: Unknown Redis command called from Lua script": "ERR Unknown Redis command called from Lua script",
		"ERR Error running script" + call6 + "user_script:12: too many results to unpack":                     "ERR too many results to unpack",
		"@user_script: 12: -READONLY You can't write against a read only replica.  ":                          "READONLY You can't write against a read only replica.",
		// Not of a script.
		"ERR unknown command 'wait', with args beginning with: 'a' ": "ERR unknown command 'wait'",
		"NOSCRIPT No matching script. Please use EVAL.":              "NOSCRIPT No matching script. Please use EVAL.",
		"redis: nil": "redis: nil",
	} {
		if got := shown(t, world.Refusal(said)); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

// What goes wrong inside a script is shown in the same words, whichever server it is.
func TestErrorsInScriptsOfServers(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{
		"return redis.call('get', KEYS[1])":                                "WRONGTYPE Operation against a key holding the wrong kind of value",
		"return redis.pcall('get', KEYS[1])":                               "WRONGTYPE Operation against a key holding the wrong kind of value",
		"local _, e = pcall(redis.call, 'get', KEYS[1]) error(e)":          "WRONGTYPE Operation against a key holding the wrong kind of value",
		"\n\nreturn redis.call('pexpire', KEYS[1], '9223372036854775807')": "ERR invalid expire time in 'pexpire' command",
		"local x\nreturn x.y":                                              "ERR attempt to index local 'x' (a nil value)",
		"return redis.error_reply('ERR mine')":                             "ERR mine",
		"error('mine')":                                                    "ERR mine",
		"return unpack({}, 1, 9999999)":                                    "ERR too many results to unpack",
		"this is no script":                                                "ERR Error compiling script (new function): '=' expected near 'is'",
	}
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		rdb := redistest.Shared(t, kind).Client(t)
		do(t, rdb, "rpush", t.Name(), "x")
		for script, want := range scripts {
			answer, ok := rdb.Eval(t.Context(), script, []string{t.Name()}).Err().(redis.Error) //nolint:errorlint // go-redis returns it bare
			if !ok {
				t.Errorf("%q: no error", script)
			} else if got := shown(t, answer); got != want {
				t.Errorf("%q: got %q of %q, want %q", script, got, answer, want)
			}
		}
	})
}
