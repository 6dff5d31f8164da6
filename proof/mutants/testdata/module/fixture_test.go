package fixture

import (
	"errors"
	"strings"
	"testing"
)

func TestSum(t *testing.T) {
	if sum, err := Sum(1, 2, 97); sum != 100 || err != nil {
		t.Error(sum, err)
	}
	if _, err := Sum(1, 100); !errors.Is(err, ErrMany) {
		t.Error(err)
	}
}

func TestBetween(t *testing.T) {
	if !Between(1, 1, 3) || Between(3, 1, 3) || Between(0, 1, 3) {
		t.Error("wrong")
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	if got := Down(3); got != 3 {
		t.Error(got)
	}
}

func TestUnseen(t *testing.T) {
	if Unseen() != "all" {
		t.Error("wrong")
	}
}

func TestAct(t *testing.T) {
	done := make(chan string)
	go func() { done <- Act() }()
	if text := <-done; !strings.Contains(text, "redis.call('set', KEYS[1], value)") || !strings.Contains(text, "n = n - 1") {
		t.Error(text)
	}
}
