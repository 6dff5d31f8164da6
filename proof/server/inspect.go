package server

// inspect tells who holds a key, and who waits for it.
func (r *run) inspect(s Spot) View {
	v := View{Mode: Free, Left: r.left(s.Key, r.now), IntentLeft: isGone}
	if r.kind(s.Fence) == Hash {
		if text, ok := r.field(s.Fence, Greatest); ok {
			n, _ := parse(text)
			v.Number = int64(n)
		}
	}
	if intent, ok := r.value(s.Intent); ok {
		v.Intent, v.IntentLeft = intent, r.left(s.Intent, r.now)
	}
	held, isWritten := r.value(s.Key)
	readers := r.members(s.Key)
	if len(readers) > 0 {
		held = Value(readers[len(readers)-1].Text)
	}
	switch {
	case v.Left == isGone:
	case v.Left < 0 || !held.IsValid():
		v.Mode = Foreign
		v.Holders = []Holder{{string(r.kind(s.Key)), v.Left, false, ""}}
	case isWritten:
		v.Mode = Write
		v.Holders = []Holder{{held.Metadata(), v.Left, held.IsLeft(), held.Since()}}
	default:
		v.Mode = Read
		for _, m := range readers {
			if its := Value(m.Text); r.isRunning(m) {
				v.Holders = append(v.Holders, Holder{its.Metadata(), r.restOf(m), its.IsLeft(), its.Since()})
			}
		}
	}
	for _, m := range r.members(s.Line) {
		if e := EntryOf(m); e.ID != "" { // a guard is none
			v.Line = append(v.Line, Seen{e, e.Till > r.now})
		}
	}
	return v
}
