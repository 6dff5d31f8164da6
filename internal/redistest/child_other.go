//go:build !unix

package redistest

import (
	"errors"
	"syscall"
)

// dieWithParent is a Linux matter.
func dieWithParent() *syscall.SysProcAttr { return nil }

// inOwnGroup is a matter of Unix.
func inOwnGroup() *syscall.SysProcAttr { return nil }

// stopped is not asked: signalStop fails.
func stopped(int) bool { return false }

func (c *child) signalStop() error     { return errors.ErrUnsupported }
func (c *child) signalContinue() error { return errors.ErrUnsupported }
