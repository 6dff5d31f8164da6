package slot

import "strings"

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
