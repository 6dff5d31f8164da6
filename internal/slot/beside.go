package slot

import "strings"

// Beside names the key beside a lock key that serves one purpose, such as "intent". It hashes
// to the slot of the lock key, no two lock keys have the same, and no lock key can be taken for it
// unless its user asks for it. What follows the purpose keeps the three forms apart: with ':' in
// each of them the name beside "{k}" would be that beside "k".
func Beside(purpose, key string) string {
	switch {
	case IsTagged(key):
		return "redislock:" + purpose + "=" + key
	case strings.Contains(key, "}"):
		return "redislock:" + purpose + "~{" + InBraces(key) + "}" + key
	}
	return "redislock:" + purpose + ":{" + key + "}"
}

// IsTagged reports whether a key has a hash tag, which stays what it is behind a prefix.
func IsTagged(key string) bool { return Tag(key) != key }

// InBraces returns what a name has in braces to be in the slot of a key: the key's hash tag, or a
// short one of the same slot if a '}' would end the braces too soon.
func InBraces(key string) string {
	tag := Tag(key)
	if strings.Contains(tag, "}") {
		return Short(Of(key))
	}
	return tag
}
