//go:build !unix

package main

import "os/exec"

// setGroup is a matter of Unix.
func setGroup(*exec.Cmd) {}

// killGroup ends the command alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
