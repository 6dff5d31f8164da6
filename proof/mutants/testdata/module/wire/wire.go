// Package wire sends scripts to nobody.
package wire

// A Script is sent.
type Script struct{ name, text string }

// NewScript makes one.
func NewScript(name, text string) *Script { return &Script{name, text} }

// Send returns what would be sent.
func Send(s *Script) string { return s.invocation() }

func (s *Script) invocation() string { return s.text }
