package redistest

import "sync"

// queue hands items from one goroutine to another in order, without a bound: put
// never waits. One goroutine at a time may take.
type queue[T any] struct {
	mu     sync.Mutex
	items  []T           // under mu
	closed bool          // under mu; nothing comes any more
	wake   chan struct{} // holds a token when there may be news
}

func newQueue[T any]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1)}
}

func (q *queue[T]) put(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	q.notify()
}

// close lets next answer false once the items are taken.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.notify()
}

func (q *queue[T]) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next waits for an item. It answers false when the queue is closed and empty, or
// when done is closed, whatever the queue holds then.
func (q *queue[T]) next(done <-chan struct{}) (item T, ok bool) {
	for {
		select {
		case <-done:
			return item, false
		default:
		}
		item, ok, over := q.pop()
		if ok || over {
			return item, ok
		}
		select {
		case <-q.wake:
		case <-done:
			return item, false
		}
	}
}

func (q *queue[T]) pop() (item T, ok, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return item, false, q.closed
	}
	item = q.items[0]
	q.items = q.items[1:]
	return item, true, false
}
