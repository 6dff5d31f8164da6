package redistest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Authority signs certificates of servers on 127.0.0.1 and of their clients. Its
// files are removed when its test ends. Its methods are safe for concurrent use as
// long as no two of them issue the same name.
type Authority struct {
	dir  string
	cert *x509.Certificate // its own; nil until it is issued
	key  *ecdsa.PrivateKey // of cert
}

// NewAuthority makes an authority with its own certificate in the file "ca".
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{dir: tb.TempDir()}
	own := a.Issue(tb, "ca", time.Hour)
	a.cert, a.key = own.Leaf, own.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// File is the path of a PEM file with the certificate that was issued with this name, and its key.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name+".pem") }

// Issue makes a certificate that is valid for some time from now, and its key, and
// writes both into the file of this name. If the time is negative, and less than a
// day, the certificate has expired.
func (a *Authority) Issue(tb testing.TB, name string, valid time.Duration) tls.Certificate {
	tb.Helper()
	certificate, err := a.issue(name, time.Now().Add(valid))
	if err != nil {
		tb.Fatalf("redistest: certificate %q: %v", name, err)
	}
	return certificate
}

// issue signs the first certificate, which is the authority's own, with its own key.
func (a *Authority) issue(name string, until time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until,
		IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, parentKey := a.cert, a.key
	if parent == nil {
		parent, parentKey = cert, key
	}
	der, err1 := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err1, err2); err != nil {
		return tls.Certificate{}, err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if err := os.WriteFile(a.File(name), append(public, secret...), 0o600); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(public, secret)
}

// Config is the configuration of a client that trusts the authority and shows these certificates.
func (a *Authority) Config(certificates ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, Certificates: certificates}
}

// StartTLS has the server speak TLS on a port of its own until it is restarted, to
// clients that show a certificate of the authority, and returns the address. The
// certificate of the server is in the file "server". The address is empty if the
// server was built without TLS.
func (s *Server) StartTLS(tb testing.TB, a *Authority) (addr string) {
	tb.Helper()
	program, err := os.ReadFile(s.program)
	if err != nil {
		tb.Fatalf("redistest: TLS of port %d: %v", s.port, err)
	}
	// The server is not asked: Redis 7 that was built without TLS does not refuse these
	// settings, but crashes. Of a script that starts the program, as .ci/install makes
	// for the newest servers, nothing can be read.
	if !bytes.HasPrefix(program, []byte("#!")) && !bytes.Contains(program, []byte("SSL_CTX_new")) {
		return ""
	}
	a.Issue(tb, "server", time.Hour)
	for range launchTries {
		port, err := takePort()
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { freePort(port) })
		switch err := s.listenTLS(tb, a, port); {
		case err == nil:
			return loopback(port)
		case !strings.Contains(err.Error(), "listen"): // else another process has the port
			tb.Fatalf("redistest: TLS of port %d: %v", s.port, err)
		}
	}
	tb.Fatalf("redistest: TLS of port %d: no port for it", s.port)
	return ""
}

func (s *Server) listenTLS(tb testing.TB, a *Authority, port int) error {
	tb.Helper()
	admin := s.Client(tb)
	defer func() { _ = admin.Close() }()
	return admin.Do(tb.Context(), "CONFIG", "SET", "tls-cert-file", a.File("server"), "tls-key-file", a.File("server"),
		"tls-ca-cert-file", a.File("ca"), "tls-auth-clients", "yes", "tls-port", port).Err()
}
