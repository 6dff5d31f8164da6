package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxBulk is the greatest string a server takes.
const maxBulk = 512 << 20

// readFrame reads one whole value of RESP2 or RESP3, nested as deep as it comes,
// and returns its bytes unchanged. An inline command, a bare line, is one value
// too.
func readFrame(r *bufio.Reader) ([]byte, error) {
	return appendFrame(nil, r)
}

func appendFrame(frame []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	frame = append(frame, line...)
	if err != nil {
		return frame, err
	}
	switch line[0] {
	case '$', '=', '!':
		return appendBulk(frame, line, r)
	case '*', '~', '>':
		return appendFrames(frame, line, 1, 0, r)
	case '%':
		return appendFrames(frame, line, 2, 0, r)
	case '|': // attributes, then the value they belong to
		return appendFrames(frame, line, 2, 1, r)
	default:
		return frame, nil
	}
}

// appendBulk reads the string that line announces.
func appendBulk(frame, line []byte, r *bufio.Reader) ([]byte, error) {
	n, err := announcedLen(line)
	if err != nil || n < 0 {
		return frame, err
	}
	body := make([]byte, n+len("\r\n"))
	got, err := io.ReadFull(r, body)
	return append(frame, body[:got]...), err
}

// appendFrames reads the elements that line announces: each of them is `each`
// values, and `more` values follow the last.
func appendFrames(frame, line []byte, each, more int, r *bufio.Reader) ([]byte, error) {
	n, err := announcedLen(line)
	if err != nil {
		return frame, err
	}
	for range max(0, n)*each + more {
		if frame, err = appendFrame(frame, r); err != nil {
			return frame, err
		}
	}
	return frame, nil
}

// announcedLen is the length in a header line; -1 means null.
func announcedLen(line []byte) (int, error) {
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if err != nil || n < -1 || n > maxBulk {
		return 0, fmt.Errorf("redistest: bad RESP length %q", line)
	}
	return n, nil
}

// isPush reports whether a reply was sent unasked (RESP3).
func isPush(frame []byte) bool { return len(frame) > 0 && frame[0] == '>' }

// decodeCommand returns the words of a command as a client sends it: an array of
// strings, or an inline line. It returns nil for an empty one.
func decodeCommand(frame []byte) []string {
	if len(frame) == 0 || frame[0] != '*' {
		return strings.Fields(string(frame))
	}
	var words []string
	_, rest, _ := bytes.Cut(frame, []byte("\n"))
	for len(rest) > 0 && rest[0] == '$' {
		header, body, _ := bytes.Cut(rest, []byte("\n"))
		n, err := announcedLen(header)
		if err != nil || n < 0 || n+2 > len(body) {
			return words
		}
		words = append(words, string(body[:n]))
		rest = body[n+2:]
	}
	return words
}
