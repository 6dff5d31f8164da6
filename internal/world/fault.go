package world

// A Refusal is an error that a server might give.
type Refusal string

// Error returns what the server says.
func (r Refusal) Error() string { return string(r) }

// RedisError marks the error as one of a server.
func (r Refusal) RedisError() {}
