//go:build !unix

package plant

import "os/exec"

func setGroup(*exec.Cmd) {}

// killGroup ends the command alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
