// Package recipes_test has the programs that the documents show, and what shows that they do what is said.
package recipes_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
