// Package soak_test lets the library work for a long time, in calm and under faults, and looks whether anything grows that
// should not: memory, goroutines and connections of the process that locks; keys, memory, scripts and connections of the server.
//
//	make soak              # half an hour
//	make soak FOR=5m
//
// A plain go test runs it for some seconds, which shows that everything is given back at the end, and says nothing of growth.
package soak_test

import (
	"flag"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

var (
	duration = flag.Duration("for", 8*time.Second, "how long the library works")
	page     = flag.String("page", "", "a Markdown file to which the figures are written")
)

func TestMain(m *testing.M) {
	redistest.RegisterRole("user", user)
	redistest.Main(m)
}
