package look

import (
	"bufio"
	"encoding/base64"
	"io"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A keyObject is a key as JSON. Its names are documented, and stay.
type keyObject struct {
	Key      string         `json:"key"`
	KeyBytes string         `json:"key_base64,omitempty"` // if Key is no UTF-8, and so not the whole truth
	RedisKey string         `json:"redis_key"`
	Mode     string         `json:"mode"`
	Type     string         `json:"type,omitempty"`
	TTL      *int64         `json:"ttl_ms"`
	Waiting  int            `json:"waiting"`
	Fence    int64          `json:"fence"`
	Holders  []holderObject `json:"holders"`
	Intent   *holderObject  `json:"intent"`
	Line     []waiterObject `json:"line"`
}

// A holderObject is a holder, or a writer with an intent.
type holderObject struct {
	Metadata string  `json:"metadata"`
	Owner    string  `json:"owner"`
	Since    *string `json:"since"`
	TTL      int64   `json:"ttl_ms"`
	Left     bool    `json:"left"`
}

// A waiterObject is somebody who stands in line.
type waiterObject struct {
	Place    int     `json:"place"`
	Mode     string  `json:"mode"`
	Metadata string  `json:"metadata"`
	Owner    string  `json:"owner"`
	Since    *string `json:"since"`
	Alive    bool    `json:"alive"`
}

// objectOf makes the object of a key. TTL is null if the key does not exist, or has none.
func objectOf(s redislock.KeyState, prefix string) keyObject {
	o := keyObject{
		Key: s.Key, RedisKey: prefix + s.Key, Mode: string(s.Mode), Type: s.Type, Waiting: waiting(s), Fence: s.Fence,
		Holders: []holderObject{}, Line: []waiterObject{},
	}
	if !utf8.ValidString(s.Key) {
		o.KeyBytes = base64.StdEncoding.EncodeToString([]byte(s.Key))
	}
	if s.TTL > 0 {
		ms := s.TTL.Milliseconds()
		o.TTL = &ms
	}
	for _, h := range s.Holders {
		o.Holders = append(o.Holders, holderOf(h))
	}
	if s.Intent != nil {
		h := holderOf(*s.Intent)
		o.Intent = &h
	}
	for i, w := range s.Line {
		o.Line = append(o.Line, waiterObject{i + 1, string(w.Mode), w.Metadata, w.Owner, moment(w.Since), w.Alive})
	}
	return o
}

func holderOf(h redislock.Holder) holderObject {
	return holderObject{h.Metadata, h.Owner, moment(h.Since), h.TTL.Milliseconds(), h.Left}
}

// moment is a time as JSON, null if there is none.
func moment(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := at.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	return &text
}

// writeObjects writes one object a line.
func writeObjects(w io.Writer, states []redislock.KeyState, prefix string) error {
	out := bufio.NewWriter(w)
	for _, s := range states {
		if err := cli.WriteJSON(out, objectOf(s, prefix)); err != nil {
			return err
		}
	}
	return out.Flush()
}
