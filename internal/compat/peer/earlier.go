//go:build earlier

package main

import (
	"context"
	"errors"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/compat"
)

// This file stands in the place of tree.go in the earlier version.

var errNot = errors.New("the earlier version has not got that")

func options([]string) []redislock.ClientOption { return nil }

func breaks(context.Context, *redislock.Client, []string, *compat.Reply) error { return errNot }
