package redistest

import (
	"bufio"
	"io"
	"net"
	"strings"
)

// AnswerCommands answers the commands that come over a connection, until that ends, as a server in memory does. A client may send
// many before it reads an answer. The first word of a command is in small letters. If a command gets no answer, nothing that
// comes behind it does.
func AnswerCommands(conn net.Conn, answer func(words []string) (reply string, answered bool)) {
	defer func() { _ = conn.Close() }()
	in, out := bufio.NewReader(conn), make(chan string, 1024)
	defer close(out)
	go func() {
		for reply := range out {
			_, _ = io.WriteString(conn, reply) // if it fails, so does reading
		}
	}()
	for {
		frame, err := readFrame(in)
		words := decodeCommand(frame)
		if err != nil || len(words) == 0 {
			return
		}
		words[0] = strings.ToLower(words[0])
		reply, answered := answer(words)
		if !answered {
			_, _ = io.Copy(io.Discard, in)
			return
		}
		out <- reply
	}
}
