//go:build unix && !linux

package run

// zombies is a matter of Linux: elsewhere it is not known who of a group has ended.
type zombies struct{}

func (*zombies) someLive(int) bool { return true }
