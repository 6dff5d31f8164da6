package proto

import (
	"strings"

	"github.com/seed-14de3678/redislock/internal/inctx"
)

// This file is what a lock stores.

// Separator stands behind the token of a stored value, and around the caller's id. Neither of them can contain it.
const Separator = "|"

// candidateMark stands behind the id of a candidate, see EncodeCandidate. No id can contain it.
const candidateMark = "="

// MostCaller bounds the length of a caller's id, in bytes.
const MostCaller = 64

// EncodeValue makes the stored value of a lock, which is one of these:
//
//	token               no id and no metadata
//	token|metadata      no id, and the metadata does not begin with '|'
//	token||id|metadata  else; the id or the metadata may be empty
//
// If its owner leaves the key, the token is cut off.
func EncodeValue(token, id, metadata string) string {
	switch {
	case id == "" && metadata == "":
		return token
	case id == "" && !strings.HasPrefix(metadata, Separator):
		return token + Separator + metadata
	}
	return token + Separator + Separator + id + Separator + metadata
}

// EncodeCandidate makes the stored value of a candidate that may be [inctx.Pending]: `token||id=|metadata|`. Only a
// byte at the very end can say that the candidate is pending, see refresh.lua. So the metadata has an end of its own,
// because it may end with the same byte. The mark says so, because other metadata may end in the same way.
func EncodeCandidate(token, id, metadata string) string {
	return EncodeValue(token, id+candidateMark, metadata) + Separator
}

// DecodeValue splits a stored value. The id of a pending candidate has [inctx.Pending] behind it.
func DecodeValue(value string) (token, id, metadata string) {
	token, detail, _ := strings.Cut(value, Separator)
	id, metadata = DecodeDetail(detail)
	return token, id, metadata
}

// TokenOf is the token of a stored value.
func TokenOf(value string) string {
	token, _, _ := strings.Cut(value, Separator)
	return token
}

// DecodeDetail splits what stands behind the token and the first separator of a stored value. For the scripts, which
// reply it, all of that is metadata. What no lock stores is metadata here, too.
func DecodeDetail(detail string) (id, metadata string) {
	rest, apart := strings.CutPrefix(detail, Separator)
	if !apart {
		return "", detail
	}
	id, metadata, ends := strings.Cut(rest, Separator)
	if !ends {
		return "", detail
	}
	id, isCandidate := strings.CutSuffix(id, candidateMark)
	if id != "" && !IsCaller(id) {
		return "", detail
	}
	if !isCandidate {
		return id, metadata
	}
	metadata, isPending := strings.CutSuffix(metadata, inctx.Pending)
	if metadata, ends = strings.CutSuffix(metadata, Separator); !ends {
		return "", detail
	}
	if isPending {
		id += inctx.Pending
	}
	return id, metadata
}

// IsCaller reports whether a text can be a caller's id.
func IsCaller(id string) bool {
	if len(id) < 1 || len(id) > MostCaller {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '|' || c == '=' || c == '"' {
			return false
		}
	}
	return true
}
