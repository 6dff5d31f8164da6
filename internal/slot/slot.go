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
