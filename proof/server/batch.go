package server

// batch does what many callers ask for, as far as it is plain: it takes write locks on free keys, and releases write locks
// that are as they were taken, where nothing stands in a line.
func (r *run) batch(all []Plain) codes {
	done := make(codes, len(all))
	for k, p := range all {
		done[k] = Refused
		if r.isPlain(p) {
			done[k] = Done
			for _, s := range p.Set {
				if p.TTL == 0 {
					delete(r.Space, s.Key)
				} else {
					r.hold(s.Key, p.Value, p.TTL)
				}
			}
		}
	}
	return done
}

func (r *run) isPlain(p Plain) bool {
	for _, s := range p.Set {
		held, isWritten := r.value(s.Key)
		asTaken := isWritten && held == p.Value
		if r.exists(s.Line) || p.TTL == 0 && !asTaken || p.TTL > 0 && r.exists(s.Key) {
			return false
		}
	}
	return true
}
