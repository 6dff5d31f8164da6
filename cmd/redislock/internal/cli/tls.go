package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strconv"
)

// tlsFiles are what the url says about TLS, beside rediss://.
type tlsFiles struct {
	cacert, cert, key string // names of files
	skipVerify        bool
}

// takeTLS takes what is about TLS out of the query of a url: go-redis would take it for mistakes.
func takeTLS(u *url.URL, query url.Values) (*tlsFiles, error) {
	var f tlsFiles
	for name, to := range map[string]*string{"cacert": &f.cacert, "cert": &f.cert, "key": &f.key} {
		if !query.Has(name) {
			continue
		}
		if *to = query.Get(name); *to == "" {
			return nil, Usagef("the url of the server: %s= has no name of a file", name)
		}
		if u.Scheme != "rediss" {
			return nil, Usagef("the url of the server: %s= is for TLS, that is rediss://", name)
		}
		query.Del(name)
	}
	if query.Has("skip_verify") {
		var err error
		if f.skipVerify, err = strconv.ParseBool(query.Get("skip_verify")); err != nil || u.Scheme != "rediss" {
			return nil, Usagef("the url of the server: skip_verify=true or false is for TLS, that is rediss://")
		}
		query.Del("skip_verify")
	}
	if f.key != "" && f.cert == "" {
		return nil, Usagef("the url of the server: key= is without cert=")
	}
	return &f, nil
}

// apply reads the files into a configuration; nil is that of a connection without TLS.
func (f *tlsFiles) apply(config *tls.Config) error {
	if config == nil {
		return nil
	}
	config.InsecureSkipVerify = f.skipVerify
	if f.cacert != "" {
		text, err := os.ReadFile(f.cacert)
		if err != nil {
			return Usagef("the url of the server: cacert=: %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return Usagef("the url of the server: cacert=: %s has no certificate (PEM)", f.cacert)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, cmp.Or(f.key, f.cert))
		switch {
		case err != nil && f.key == "":
			return Usagef("the url of the server: cert= without key=, so that %s has to have both: %v", f.cert, err)
		case err != nil:
			return Usagef("the url of the server: cert= and key=: %v", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return nil
}
