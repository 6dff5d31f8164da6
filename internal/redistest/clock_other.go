//go:build !linux

package redistest

import (
	"errors"
	"sync/atomic"
)

// clockControl is never made: needClock sees to that.
type clockControl struct{ offset, reader, sync atomic.Int64 }

func mapControl(string) (*clockControl, error) { return nil, errors.ErrUnsupported }
func (c *clockControl) unmap() error           { return errors.ErrUnsupported }
