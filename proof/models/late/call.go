package late

// A phase is how far a call is.
type phase int8

const (
	idle     phase = iota
	again          // it is to be sent, once more
	sent           // its request is under way
	executed       // the answer is under way
	waiting        // it stands in line, and listens
)

// A call is an operation of a caller under way.
type call struct {
	phase      phase
	request    request // its last try
	reply      reply
	tries      int8    // that it may have yet after one that was not answered
	asks       int8    // how often it may ask again while it waits
	unanswered bool    // a try was not answered
	beaten     int8    // how many tries in a row were overtaken
	later      holdSet // holds that have begun to obtain since the call has begun

	// What it may count on at most, whatever the answer is: requests of others, sent since, may have lessened it.
	limit [keys]lease
}

// underWay reports whether a request of it is.
func (c *call) underWay() bool { return c.phase == sent || c.phase == executed }
