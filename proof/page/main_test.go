package page

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// The tests look at files of the whole repository, by their names from its root.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	redistest.Main(m)
}
