package servers_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A handshake that fails is told for what it is, and locks nothing.
func testTLSRefused(t *testing.T, s *server) {
	t.Helper()
	good := s.ca.Issue(t, "good", time.Hour)
	expired := s.ca.Issue(t, "expired", -time.Hour)
	other := redistest.NewAuthority(t)
	foreign := other.Issue(t, "foreign", time.Hour)
	for name, tt := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"the server is not trusted":      {other.Config(good), "certificate signed by unknown authority"},
		"no certificate":                 {s.ca.Config(), "remote error: tls: certificate required"},
		"a certificate of somebody else": {s.ca.Config(foreign), "remote error: tls: "}, // no words for it that all have
		"an expired certificate":         {s.ca.Config(expired), "remote error: tls: expired certificate"},
		"a certificate of another host":  {named(s.ca.Config(good), "redis.example"), "redis.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := redis.NewClient(&redis.Options{Addr: s.tlsAddr, TLSConfig: tt.config, DialerRetries: 1, MaxRetries: -1})
			defer rdb.Close()
			client := redislock.New(rdb)
			defer client.Close()
			key := t.Name()
			check.Eventually(t, time.Minute, "an error that says "+tt.want, func() bool {
				lock, err := client.Obtain(t.Context(), []string{key}, time.Minute, nil)
				if lock != nil || err == nil {
					t.Fatal("got a lock")
				}
				if errors.Is(err, redislock.ErrNotObtained) {
					t.Fatalf("got error %v, want one about the connection", err)
				}
				// Often the server has closed the connection before the client has read why. So each Obtain asks once:
				// of several requests, all would have to be told.
				return strings.Contains(err.Error(), tt.want) && !errors.Is(err, redislock.ErrUnknownOutcome)
			})
			if n := check.Must[int64](t)(s.admin.Exists(t.Context(), key).Result()); n != 0 {
				t.Errorf("key %q is there", key)
			}
		})
	}
}

// named has a client expect the certificate of another host.
func named(c *tls.Config, host string) *tls.Config {
	c.ServerName = host
	return c
}
