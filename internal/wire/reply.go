package wire

// A Reply reads a flat array from its front.
type Reply struct {
	Rest []any
	Bad  bool // a value was missing, or of another type
}

func (r *Reply) next() any {
	if len(r.Rest) == 0 {
		return nil
	}
	v := r.Rest[0]
	r.Rest = r.Rest[1:]
	return v
}

// Text reads a text.
func (r *Reply) Text() string {
	s, ok := r.next().(string)
	r.Bad = r.Bad || !ok
	return s
}

// Number reads a number.
func (r *Reply) Number() int64 {
	n, ok := r.next().(int64)
	r.Bad = r.Bad || !ok
	return n
}
