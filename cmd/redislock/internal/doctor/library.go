package doctor

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
)

// sampleBytes are enough of a string to recognise its library.
const sampleBytes = 64

// The libraries that can be told by what they store.
const (
	ours     = "redislock"
	bsm      = "bsm/redislock"
	redsync  = "redsync"
	redisson = "Redisson"
)

// A Redisson lock is a hash: the id of the client and of the thread, and how often it is held.
var redissonField = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:\d+$`)

// libraryOf says whose lock a key looks like, by its type and the beginning of what it holds; empty if like none.
//
// This library stores a token, and its metadata behind a '|'. bsm/redislock stores the same token and its metadata with nothing
// between, so without metadata the two cannot be told apart. redsync stores 16 bytes in base64.
func libraryOf(kind, sample string) string {
	switch kind {
	case "hash":
		if redissonField.MatchString(sample) {
			return redisson
		}
	case "zset":
		if token, _, _ := strings.Cut(sample, "|"); survey.IsMade(token) {
			return ours
		}
	case "string":
		token, _, _ := strings.Cut(sample, "|")
		switch raw, err := base64.StdEncoding.DecodeString(sample); {
		case survey.IsMade(token):
			return ours
		case err == nil && len(sample) == 24 && len(raw) == 16:
			return redsync
		case len(sample) > survey.TokenLength && survey.IsMade(sample[:survey.TokenLength]):
			return bsm
		}
	}
	return ""
}
