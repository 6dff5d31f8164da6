// Package slot is where Redis Cluster puts a key.
package slot

import "strings"

// Tag returns the part of a key that Redis Cluster hashes: what stands between the first '{'
// and the next '}' if that is not empty, else the whole key.
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
	return crc % 16384
}
