package cli

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestOpenTLS(t *testing.T) {
	t.Parallel()
	a, other := redistest.NewAuthority(t), redistest.NewAuthority(t)
	a.Issue(t, "client", time.Hour)
	other.Issue(t, "client", time.Hour)
	addr := redistest.Start(t, redistest.Redis).StartTLS(t, a)
	if addr == "" {
		t.Skip("not run: this redis-server has no TLS")
	}
	client := "cert=" + a.File("client") + "&key=" + a.File("client")
	for _, query := range []string{
		"cacert=" + a.File("ca") + "&" + client,
		"cacert=" + a.File("ca") + "&cert=" + a.File("client"),
		"skip_verify=true&" + client,
	} {
		wantUsable(t, open(t, "rediss://"+addr+"/1?"+query))
	}
	for _, tt := range []struct {
		url, reason string
		status      int
	}{
		{"rediss://" + addr + "?" + client, "?cacert=FILE in the url names the certificate of the authority", Unavailable},
		{"rediss://" + addr + "?cacert=" + other.File("ca") + "&" + client, "certificate signed by unknown authority", Unavailable},
		{"redis://" + addr, "if it speaks TLS write rediss:// instead of redis://", Unavailable},
		{"rediss://" + addr + "?cert=" + a.File("ca") + "&key=" + a.File("client"), "cert= and key=: tls: private key does not match", Usage},
	} {
		wantFailure(t, tt.url, tt.status, tt.reason)
	}
	wantCertificateWanted(t, "rediss://"+addr+"?cacert="+a.File("ca"))
	wantCertificateWanted(t, "rediss://"+addr+"?cacert="+a.File("ca")+"&cert="+other.File("client"))
}

// Nothing is known of a server that shakes hands and closes the connection. Most likely it wants a certificate.
func TestOpenTLSClosed(t *testing.T) {
	t.Parallel()
	a := redistest.NewAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{a.Issue(t, "server", time.Hour)}, MinVersion: tls.VersionTLS13}
	l := check.Must[net.Listener](t)(tls.Listen("tcp", "127.0.0.1:0", config))
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
	})
	defer ended.Wait()
	defer l.Close()
	wantFailure(t, "rediss://"+l.Addr().String()+"?cacert="+a.File("ca"), Unavailable, certificateOfUser)
}

// wantCertificateWanted checks what is said of a server that wants another certificate of the user. What the server says of it is
// lost if the connection is reset before that is read.
func wantCertificateWanted(t *testing.T, url string) {
	t.Helper()
	for range 100 {
		conn, err := (&Redis{URL: url}).Open(withLast(t.Context()))
		if err == nil {
			_ = conn.Close()
			t.Fatalf("%s: no error", url)
		}
		if !strings.Contains(err.Error(), certificateOfUser) {
			t.Fatalf("%s: want %q in:\n%v", url, certificateOfUser, err)
		}
		if statusOf(err) == Refused && strings.Contains(err.Error(), "tls: ") {
			return
		}
		if statusOf(err) != Unavailable || !isAny(err, io.EOF, syscall.ECONNRESET, syscall.EPIPE) {
			t.Fatalf("%s: status %d of:\n%v", url, statusOf(err), err)
		}
	}
	t.Errorf("%s: all connections were reset", url)
}

// Sentinels and Clusters have the same files.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	a := redistest.NewAuthority(t)
	parsed := func(kind string) *Conn {
		conn := check.Must[*Conn](t)(parseURL("rediss://127.0.0.1:1?" + kind + "&skip_verify=true&cacert=" + a.File("ca") + "&cert=" + a.File("ca")))
		t.Cleanup(func() { check.NoError(t, conn.Close()) })
		return conn
	}
	sentinel := parsed("master_name=main")
	for what, config := range map[string]*tls.Config{
		"a Cluster":     parsed("addr=127.0.0.1:2").RDB.(*redis.ClusterClient).Options().TLSConfig,
		"the Sentinels": sentinel.Sentinel.TLSConfig,
		"the primary":   sentinel.RDB.(*redis.Client).Options().TLSConfig,
	} {
		if !config.InsecureSkipVerify || config.RootCAs == nil || len(config.Certificates) != 1 {
			t.Errorf("%s: skips verification: %t, authorities: %v, %d certificates", what, config.InsecureSkipVerify, config.RootCAs, len(config.Certificates))
		}
	}
}
