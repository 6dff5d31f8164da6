package fault_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A pipe stands between clients and a server, and knows nothing of what it carries.
type pipe struct {
	listener net.Listener
	target   string
	piece    int          // bytes that it passes on together; 0: as they come
	left     atomic.Int64 // bytes that still pass from the server if cutting
	cutting  atomic.Bool
	all      sync.WaitGroup
	close    func() // ends every connection, and takes no others
}

func newPipe(t *testing.T, target string, piece int) *pipe {
	t.Helper()
	p := &pipe{listener: check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), target: target, piece: piece}
	ctx, cancel := context.WithCancel(context.Background())
	p.all.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(ctx, client) })
		}
	})
	p.close = sync.OnceFunc(func() { cancel(); _ = p.listener.Close(); p.all.Wait() })
	t.Cleanup(p.close)
	return p
}

// serve passes on what a client and the server say, until one of the two ends, or ctx does.
func (p *pipe) serve(ctx context.Context, client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	closeBoth := func() { _ = client.Close(); _ = server.Close() }
	defer context.AfterFunc(ctx, closeBoth)()
	p.all.Go(func() { p.pass(server, client, false); closeBoth() })
	p.pass(client, server, true)
	closeBoth()
}

func (p *pipe) pass(to io.Writer, from io.Reader, reply bool) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		for said := buffer[:n]; len(said) > 0; {
			part := said
			if p.piece > 0 {
				part = said[:min(p.piece, len(said))]
			}
			said = said[len(part):]
			if reply && p.cutting.Load() {
				if left := p.left.Add(-int64(len(part))); left < 0 {
					p.cutting.Store(false)
					_, _ = to.Write(part[:max(0, int64(len(part))+left)])
					return
				}
			}
			if _, err := to.Write(part); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut ends the connection that is the next to carry replies, behind so many of their bytes.
func (p *pipe) cut(behind int64) {
	p.left.Store(behind)
	p.cutting.Store(true)
}
