package survey

import "strings"

const (
	// TokenLength is how many characters a token has, or what is random of one that also says when it was made.
	TokenLength = 22
	// TimedLength is how many the latter has.
	TimedLength = 30
	// formBytes are enough to recognise a token that the library has made.
	formBytes = TimedLength + 1
	// ownTokenBytes are enough to see that a token of the caller's own choosing ends: it has 512 bytes at most.
	ownTokenBytes = 512 + 1
	// mostValue is how long a value may be that is taken for that of a lock: metadata has 4 KiB at most, if nobody raises
	// that limit.
	mostValue = 1 << 20
	// base64url are the characters of a token.
	base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// hasForm reports whether a value may be that of a lock, by the bytes that it begins with: a token, which is over or ends at
// the first '|'; or none, if the key was left. With ownTokens the token may be any text; otherwise the library has made it.
func hasForm(start string, ownTokens bool) bool {
	token, _, isOver := strings.Cut(start, "|")
	switch {
	case isOver && token == "":
		return true
	case ownTokens:
		return token != "" && len(token) < ownTokenBytes
	}
	return IsMade(token)
}

// IsMade reports whether a text can be a token of the library: 16 random bytes as base64url, with 6 bytes for the time
// before them since there is Holder.Since. The last character has two bits of them, and the time begins as any of
// the years from 2000 to 2079 does.
func IsMade(token string) bool {
	if len(token) != TokenLength && len(token) != TimedLength || !strings.ContainsRune("AQgw", rune(token[len(token)-1])) {
		return false
	}
	if len(token) == TimedLength && (token[0] != 'A' || token[1] < 'N' || token[1] > 'z') {
		return false
	}
	return strings.Trim(token, base64url) == ""
}
