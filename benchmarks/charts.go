package main
func drawAll(all comparison, folder string) error { return nil }
func (c comparison) parts() []part { return nil }
