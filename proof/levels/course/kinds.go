package course

// Kinds are all kinds of operation. The numbers of operations let a block last for 20 to 100 ms; that of renewals waits until
// they are due.
var Kinds = []Kind{
	{Name: "a turn, 8 callers", Act: Turn, Keys: 1, Callers: 8, Queue: true, Ops: 320, Limits: []Limit{{Server, .9, Old}}},
	{Name: "a turn, 64 callers", Act: Turn, Keys: 1, Callers: 64, Queue: true, Ops: 384, Limits: []Limit{{Server, .9, Old}}},
	{Name: "a fenced turn, 8 callers", Act: Turn, Keys: 1, Callers: 8, Queue: true, Fenced: true, Ops: 320, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a fenced turn, 64 callers", Act: Turn, Keys: 1, Callers: 64, Queue: true, Fenced: true, Ops: 384, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a turn of a set of 8, 8 callers", Act: Turn, Keys: 8, Callers: 8, Queue: true, Ops: 240, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a turn of a set of 8, 64 callers", Act: Turn, Keys: 8, Callers: 64, Queue: true, Ops: 320, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a turn, 4 readers and 4 writers", Act: Turn, Keys: 1, Callers: 8, Queue: true, Reads: 4, Ops: 320, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a turn, 32 readers and 32 writers", Act: Turn, Keys: 1, Callers: 64, Queue: true, Reads: 32, Ops: 384, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a free key", Act: Turn, Keys: 1, Callers: 1, Ops: 300, Limits: []Limit{{Server, 1, Old}, {Both, 1.07, Peer}}},
	{Name: "8 free keys", Act: Turn, Keys: 8, Callers: 1, Ops: 250, Limits: []Limit{{Server, 1, Old}}},
	{Name: "a free key, a context that can end", Act: Turn, Keys: 1, Callers: 1, Ends: true, Ops: 300, Limits: []Limit{{Both, 1.15, Peer}}},
	{Name: "a free key, by bsm/redislock", Act: BSM, Keys: 1, Callers: 1, Ops: 300, Is: Peer},
	{Name: "a free key, to read", Act: Turn, Keys: 1, Callers: 1, Reads: 1, Ops: 300},
	{Name: "With of a free key", Act: With, Keys: 1, Callers: 1, Ops: 250},
	{Name: "a refused attempt", Act: Refused, Keys: 1, Callers: 1, Ops: 500, Limits: []Limit{{Server, 1.25, Script}}},
	{Name: "the least script with the reply of a refusal", Act: Least, Keys: 1, Callers: 1, Ops: 500, Is: Script},
	{Name: "a Refresh", Act: Refresh, Keys: 1, Callers: 1, Ops: 500},
	{Name: "a renewal by the watchdog", Act: Renew, Keys: 1, Callers: 1, Ops: 3200, Seldom: true},

	{Name: "in memory: a free key", Act: Turn, Place: Memory, Keys: 1, Callers: 1, Ops: 5000, Limits: []Limit{{Client, .95, Old}}, Is: NoEnd},
	{Name: "in memory: a free key, a context that can end", Act: Turn, Place: Memory, Keys: 1, Callers: 1, Ends: true, Ops: 5000, Limits: []Limit{{Client, 1.25, NoEnd}}},
	{Name: "in memory: a free key, with Queue", Act: Turn, Place: Memory, Keys: 1, Callers: 1, Queue: true, Ops: 4000, Limits: []Limit{{Client, 1, Old}}},
	{Name: "in memory: With of a free key", Act: With, Place: Memory, Keys: 1, Callers: 1, Ops: 4000},
	{Name: "in memory: 64 at once, a key each", Act: Turn, Place: Memory, Keys: 1, Callers: 64, Each: true, Ops: 64 * 128, Limits: []Limit{{Client, .9, Old}}},
	{Name: "in memory: 512 at once, a key each", Act: Turn, Place: Memory, Keys: 1, Callers: 512, Each: true, Ops: 512 * 32, Limits: []Limit{{Client, .9, Old}}},
	{Name: "in memory: go-redis alone", Act: Raw, Place: Memory, Keys: 1, Callers: 1, Ops: 5000},
	{Name: "all processors: 64 at once, a key each", Act: Turn, Place: Many, Keys: 1, Callers: 64, Each: true, Ops: 64 * 32, Limits: []Limit{{Time, 1 / 2.4, RawFew}, {Time, 1 / 1.1, Old}}},
	{Name: "all processors: 512 at once, a key each", Act: Turn, Place: Many, Keys: 1, Callers: 512, Each: true, Ops: 512 * 12, Limits: []Limit{{Time, 1 / 3.1, RawMany}, {Time, 1 / 1.1, Old}}},
	{Name: "all processors: 64 at once, by go-redis alone", Act: Raw, Place: Many, Keys: 1, Callers: 64, Each: true, Ops: 64 * 16, Is: RawFew},
	{Name: "all processors: 512 at once, by go-redis alone", Act: Raw, Place: Many, Keys: 1, Callers: 512, Each: true, Ops: 512 * 5, Is: RawMany},
}
