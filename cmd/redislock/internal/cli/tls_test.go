package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// An authority makes certificates, and is one. Its files are named like what they have.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", nil)
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name+".pem") }

// issue makes a certificate and its key, in one file.
func (a *authority) issue(t *testing.T, name string, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := check.Must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, parentKey := cert, key
	if by != nil {
		parent, parentKey = by.cert, by.key
	}
	der := check.Must[[]byte](t)(x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey))
	private := check.Must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	check.NoError(t, os.WriteFile(a.file(name), text, 0o600))
	return check.Must[*x509.Certificate](t)(x509.ParseCertificate(der)), key
}

// startTLS starts a server that speaks TLS on a port of its own, and returns the address. Without a certificate for it the
// client is refused.
func startTLS(t *testing.T, a *authority) (addr string, server *redistest.Server) {
	t.Helper()
	a.issue(t, "server", a)
	server = redistest.Start(t, redistest.Redis, "--tls-cert-file", a.file("server"), "--tls-key-file", a.file("server"),
		"--tls-ca-cert-file", a.file("ca"), "--tls-auth-clients", "yes")
	rdb := server.Client(t)
	for range 20 { // until a port is free
		listener := check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		port := listener.Addr().(*net.TCPAddr).Port
		check.NoError(t, listener.Close())
		err := rdb.ConfigSet(t.Context(), "tls-port", strconv.Itoa(port)).Err()
		if err == nil {
			return "127.0.0.1:" + strconv.Itoa(port), server
		}
		if redis.HasErrorPrefix(err, "Unknown option") || strings.Contains(err.Error(), "TLS support") {
			t.Skip("not run: this redis-server has no TLS")
		}
	}
	t.Fatal("no port for TLS")
	return "", nil
}

func TestOpenTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue(t, "client", a)
	other := newAuthority(t)
	other.issue(t, "client", other)
	addr, plain := startTLS(t, a)
	client := "cert=" + a.file("client") + "&key=" + a.file("client")
	for _, query := range []string{
		"cacert=" + a.file("ca") + "&" + client,
		"cacert=" + a.file("ca") + "&cert=" + a.file("client"),
		"skip_verify=true&" + client,
	} {
		wantUsable(t, open(t, "rediss://"+addr+"/1?"+query))
	}
	for _, tt := range []struct {
		url, reason string
		status      int
	}{
		{"rediss://" + addr + "?" + client, "?cacert=FILE in the url names the certificate of the authority", Unavailable},
		{"rediss://" + addr + "?cacert=" + other.file("ca") + "&" + client, "certificate signed by unknown authority", Unavailable},
		{"rediss://" + addr + "?cacert=" + a.file("ca"), "?cert=FILE&key=FILE in the url names a certificate for this user", Refused},
		{"rediss://" + addr + "?cacert=" + a.file("ca") + "&cert=" + other.file("client"), "tls: ", Refused},
		{"rediss://" + plain.Addr() + "?dial_timeout=4s", "if it does not speak TLS write redis:// instead of rediss://", Unavailable},
		{"redis://" + addr, "if it speaks TLS write rediss:// instead of redis://", Unavailable},
		{"rediss://" + addr + "?cacert=" + os.DevNull, "has no certificate (PEM)", Usage},
		{"rediss://" + addr + "?cert=" + a.file("ca") + "&key=" + a.file("client"), "cert= and key=: tls: private key does not match", Usage},
	} {
		r := &Redis{URL: tt.url}
		if strings.Contains(tt.url, plain.Addr()) { // which is silent
			r.within = 3 * time.Second
		}
		wantFailureOf(t, r, tt.status, tt.reason)
	}
}

// Sentinels and Clusters have the same files.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, kind := range []string{"addr=127.0.0.1:1", "master_name=main"} {
		conn := check.Must[*Conn](t)(parseURL("rediss://127.0.0.1:1?" + kind + "&skip_verify=true&cacert=" + a.file("ca") + "&cert=" + a.file("ca")))
		check.NoError(t, conn.Close())
		wantFailure(t, "rediss://127.0.0.1:1?"+kind+"&cacert=/no/such", Usage, "cacert=: open /no/such")
	}
	conn := check.Must[*Conn](t)(parseURL("rediss://127.0.0.1:1?addr=127.0.0.1:2&skip_verify=true&cert=" + a.file("ca")))
	defer conn.Close()
	config := conn.RDB.(*redis.ClusterClient).Options().TLSConfig
	if !config.InsecureSkipVerify || len(config.Certificates) != 1 {
		t.Errorf("skips verification: %t, %d certificates", config.InsecureSkipVerify, len(config.Certificates))
	}
}
