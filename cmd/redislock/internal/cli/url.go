package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

// dialTries is how often a connection is tried at a time. Each command is tried several times, so one is enough; with the
// five of go-redis it would take two seconds to learn that a port is closed.
const dialTries = 1

// readURL takes a text apart that names a server: a URL, or a host that perhaps has a port.
func readURL(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") && !strings.HasPrefix(text, "unix:") {
		text = "redis://" + text
	}
	return url.Parse(text)
}

// redacted is the text of a URL that others may read: each password in it is xxxxx.
func redacted(text string) string {
	u, err := readURL(text)
	if err != nil {
		return "URL"
	}
	_, has := u.User.Password()
	query := u.Query()
	for name := range query {
		if strings.Contains(name, "password") {
			has = true
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	if !has {
		return text // as it was written
	}
	return u.Redacted()
}

// parseURL makes a connection of what go-redis takes for a URL of a server, a Cluster or Sentinels, and of the names of
// files for TLS. No error has the text of the URL, because it may have a password.
func parseURL(text string) (*Conn, error) {
	u, err := readURL(text)
	if err != nil {
		return nil, notAURL(err)
	}
	if u.Fragment != "" || (u.Scheme != "unix" || u.Host != "") && u.User == nil && strings.Contains(text, "@") {
		return nil, Usagef("the url of the server has a password that is cut off: write %%2F for / in it, %%3F for ?, %%23 for #, %%40 for @")
	}
	if password := os.Getenv(authVariable); password != "" {
		if _, has := u.User.Password(); !has {
			u.User = url.UserPassword(u.User.Username(), password)
		}
	}
	query := u.Query()
	files, err := takeTLS(u, query)
	if err != nil {
		return nil, err
	}
	u.RawQuery = query.Encode()
	switch {
	case query.Has("master_name"):
		return newSentinel(u, files)
	case query.Has("addr"):
		return newCluster(u, files)
	default:
		return newSingle(u, files)
	}
}

func newSentinel(u *url.URL, files *tlsFiles) (*Conn, error) {
	opt, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return nil, notAURL(err)
	}
	if err := files.apply(opt.TLSConfig); err != nil {
		return nil, err
	}
	opt.DialerRetries = dialTries
	name := fmt.Sprintf("%q, database %d, by the Sentinels %s", opt.MasterName, opt.DB, strings.Join(opt.SentinelAddrs, ", "))
	return &Conn{RDB: redis.NewFailoverClient(opt), Name: name, Sentinel: opt, user: opt.Username}, nil
}

func newCluster(u *url.URL, files *tlsFiles) (*Conn, error) {
	if path := strings.Trim(u.Path, "/"); path != "" && path != "0" {
		return nil, notAURL(errors.New("a Cluster has no database but 0"))
	}
	opt, err := redis.ParseClusterURL(u.String())
	if err != nil {
		return nil, notAURL(err)
	}
	if err := files.apply(opt.TLSConfig); err != nil {
		return nil, err
	}
	opt.DialerRetries = dialTries
	name := "the Cluster at " + strings.Join(opt.Addrs, ", ")
	return &Conn{RDB: redis.NewClusterClient(opt), Name: name, user: opt.Username}, nil
}

func newSingle(u *url.URL, files *tlsFiles) (*Conn, error) {
	opt, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, notAURL(err)
	}
	if err := files.apply(opt.TLSConfig); err != nil {
		return nil, err
	}
	opt.DialerRetries = dialTries
	name := fmt.Sprintf("%s, database %d", opt.Addr, opt.DB)
	return &Conn{RDB: redis.NewClient(opt), Name: name, single: opt, user: opt.Username}, nil
}

func notAURL(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		err = errors.New("this one cannot be parsed") // its text has the url in it, with the password
	}
	return Usagef("the url of the server is such as redis://user:password@localhost:6379/0: %s",
		strings.TrimPrefix(err.Error(), "redis: "))
}

// ofCluster makes options for a Cluster of those for one of its nodes.
func ofCluster(o *redis.Options) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: []string{o.Addr}, DialerRetries: dialTries, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig.Clone(),
		ClientName: o.ClientName, Protocol: o.Protocol, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
	}
}
