//go:build !linux

package main

import "errors"

func (j job) run() (status int, err error) { return failed, errors.New("it needs Linux") }
