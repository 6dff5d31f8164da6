//go:build proof

package redistest

import "testing"

func TestMain(m *testing.M) { Main(m) }
