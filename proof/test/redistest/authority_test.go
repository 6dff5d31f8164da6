package redistest_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A server that speaks TLS answers a client with a certificate of its authority, and no other one.
func TestStartTLS(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := redistest.Start(t, kind)
		a, other := redistest.NewAuthority(t), redistest.NewAuthority(t)
		addr := s.StartTLS(t, a)
		if addr == "" {
			t.Skipf("not run: this %s has no TLS", kind)
		}
		ping := func(config *tls.Config) error {
			return s.Client(t, once, func(o *redis.Options) { o.Addr, o.TLSConfig = addr, config }).Ping(t.Context()).Err()
		}
		own := a.Issue(t, "client", time.Hour)
		pair, err := tls.LoadX509KeyPair(a.File("client"), a.File("client"))
		if err != nil {
			t.Fatal(err)
		}
		for name, certificate := range map[string]tls.Certificate{"own": own, "own, of the file": pair} {
			if err := ping(a.Config(certificate)); err != nil {
				t.Errorf("%s: got error %v", name, err)
			}
		}
		for name, config := range map[string]*tls.Config{
			"none":             a.Config(),
			"expired":          a.Config(a.Issue(t, "expired", -time.Hour)),
			"of another one":   a.Config(other.Issue(t, "client", time.Hour)),
			"trusts the other": other.Config(own),
		} {
			if err := ping(config); err == nil {
				t.Errorf("%s: got an answer", name)
			}
		}
		if err := s.Client(t, once).Ping(t.Context()).Err(); err != nil {
			t.Errorf("without TLS, on the port without it: got error %v", err)
		}
	})
}
