package main

import (
	"context"
	"net"
	"sync/atomic"
)

// A proxy stands in front of a server, and can lose a reply. It is there until the process ends.
type proxy struct {
	server    string
	listener  net.Listener
	losesNext atomic.Bool // what comes next from the server is lost, and its connection with it
}

func newProxy(ctx context.Context, server string) (*proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{server: server, listener: listener}
	go p.accept(ctx)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		var dialer net.Dialer
		server, err := dialer.DialContext(ctx, "tcp", p.server)
		if err != nil {
			_ = client.Close() // its user sees that
			continue
		}
		go pass(server, client, func() bool { return false })
		go pass(client, server, func() bool { return p.losesNext.CompareAndSwap(true, false) })
	}
}

// pass passes on what comes, until one of the connections ends, or something is to be lost. Then both end.
func pass(to, from net.Conn, loses func() bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || loses() {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
