package cli

import (
	"encoding/base64"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
)

// What is known of a key as JSON. All commands write it alike; the names are documented, and stay.
type (
	// A KeyName is a key.
	KeyName struct {
		Key   string `json:"key"`
		Bytes string `json:"key_base64,omitempty"` // if Key is no UTF-8, and so not the whole truth
	}
	// A KeyObject is who has a key and who waits for it.
	KeyObject struct {
		KeyName
		RedisKey string         `json:"redis_key"`
		Mode     string         `json:"mode"`
		Type     string         `json:"type,omitempty"`
		TTL      *int64         `json:"ttl_ms"` // null: there is none
		Waiting  int            `json:"waiting"`
		Fence    int64          `json:"fence"`
		Holders  []HolderObject `json:"holders"`
		Intent   *HolderObject  `json:"intent"`
		Line     []WaiterObject `json:"line"`
	}
	// A HolderObject is a holder, or a writer with an intent.
	HolderObject struct {
		Metadata string  `json:"metadata"`
		Caller   string  `json:"caller"`
		Since    *string `json:"since"`
		TTL      int64   `json:"ttl_ms"`
		Left     bool    `json:"left"`
	}
	// A WaiterObject is somebody who stands in line.
	WaiterObject struct {
		Place    int     `json:"place"`
		Mode     string  `json:"mode"`
		Metadata string  `json:"metadata"`
		Caller   string  `json:"caller"`
		Since    *string `json:"since"`
		Alive    bool    `json:"alive"`
	}
)

// NameOf makes the object of the name of a key.
func NameOf(key string) KeyName {
	name := KeyName{Key: key}
	if !utf8.ValidString(key) {
		name.Bytes = base64.StdEncoding.EncodeToString([]byte(key))
	}
	return name
}

// NamesOf makes those of several.
func NamesOf(keys []string) (names []KeyName) {
	for _, key := range keys {
		names = append(names, NameOf(key))
	}
	return names
}

// KeyObjectOf makes the object of a key behind a prefix.
func KeyObjectOf(s redislock.KeyState, prefix string) KeyObject {
	o := KeyObject{
		KeyName: NameOf(s.Key), RedisKey: prefix + s.Key, Mode: string(s.Mode), Type: s.Type, Waiting: Waiting(s), Fence: s.Fence,
		Holders: []HolderObject{}, Line: []WaiterObject{},
	}
	if s.TTL > 0 {
		ms := s.TTL.Milliseconds()
		o.TTL = &ms
	}
	for _, h := range s.Holders {
		o.Holders = append(o.Holders, HolderObjectOf(h))
	}
	if s.Intent != nil {
		h := HolderObjectOf(*s.Intent)
		o.Intent = &h
	}
	for i, w := range s.Line {
		o.Line = append(o.Line, WaiterObject{i + 1, string(w.Mode), w.Metadata, w.Caller, Moment(w.Since), w.Alive})
	}
	return o
}

// HolderObjectOf makes the object of a holder.
func HolderObjectOf(h redislock.Holder) HolderObject {
	return HolderObject{h.Metadata, h.Caller, Moment(h.Since), h.TTL.Milliseconds(), h.Left}
}

// Moment is a time as JSON, null if it is not known.
func Moment(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := at.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	return &text
}

// Waiting returns how many wait for a key, as far as they are alive: in line, or with an intent.
func Waiting(s redislock.KeyState) int {
	n := len(s.Line) - Gone(s)
	if s.Intent != nil {
		n++
	}
	return n
}

// Gone returns how many stand in line who have not asked for too long.
func Gone(s redislock.KeyState) (n int) {
	for _, w := range s.Line {
		if !w.Alive {
			n++
		}
	}
	return n
}
