// Package slot says where Redis Cluster puts a key, and names keys beside it in the same slot.
package slot

import (
	"strings"
	"sync"
)

// count is how many slots a Cluster has.
const count = 16384

// Tag returns the part of a key that Redis Cluster hashes: the text between the first '{' and the next '}' if that is
// not empty, else the whole key.
func Tag(key string) string {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// Of returns the slot of a key: the CRC16 (XMODEM) of its hash tag, modulo 16384.
func Of(key string) uint16 {
	var crc uint16
	tag := Tag(key)
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % count
}

// Short returns a hash tag of three letters and digits that is in a slot. It is the first such tag
// in the order of the digits below. Names in Redis are made with it, so it never changes.
func Short(slot uint16) string {
	at := int(slot) * short
	return tags()[at : at+short]
}

const (
	short  = 3 // letters and digits of a tag: 3 of 62 are enough for all slots
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// tags returns the short tags of all slots, one after the other. It finds them by trial, which takes some milliseconds;
// few programs need them.
var tags = sync.OnceValue(func() string {
	found := make([]byte, short*count)
	for n, left := 0, count; left > 0; n++ {
		tag := string([]byte{digits[n/62/62], digits[n/62%62], digits[n%62]})
		at := int(Of(tag)) * short
		if found[at] == 0 {
			copy(found[at:], tag)
			left--
		}
	}
	return string(found)
})

// Beside names the key beside a lock key that serves one purpose, such as "intent". It hashes to the slot of the lock
// key. No two lock keys have the same one, and no lock key can be taken for it unless its user asks for it. What
// follows the purpose keeps the three forms apart: with ':' in each of them the name beside "{k}" would be the one
// beside "k".
func Beside(purpose, key string) string {
	switch {
	case IsTagged(key):
		return "redislock:" + purpose + "=" + key
	case strings.Contains(key, "}"):
		return "redislock:" + purpose + "~{" + InBraces(key) + "}" + key
	}
	return "redislock:" + purpose + ":{" + key + "}"
}

// Apart takes the name of a key beside a lock key apart: its purpose, and the lock key. It reports false if [Beside]
// does not make such a name.
func Apart(name string) (purpose, key string, ok bool) {
	rest, ok := strings.CutPrefix(name, "redislock:")
	at := strings.IndexAny(rest, ":=~")
	if !ok || at <= 0 {
		return "", "", false
	}
	purpose, key = rest[:at], rest[at+1:]
	switch rest[at] {
	case ':':
		key = strings.TrimSuffix(strings.TrimPrefix(key, "{"), "}")
	case '~':
		_, key, _ = strings.Cut(key, "}")
	}
	if key == "" || Beside(purpose, key) != name {
		return "", "", false
	}
	return purpose, key, true
}

// IsTagged reports whether a key has a hash tag, which stays the same behind a prefix.
func IsTagged(key string) bool { return Tag(key) != key }

// InBraces returns what a name has in braces to be in the slot of a key. It is the key's hash tag, or a short tag of
// the same slot if a '}' would end the braces too soon.
func InBraces(key string) string {
	tag := Tag(key)
	if strings.Contains(tag, "}") {
		return Short(Of(key))
	}
	return tag
}
