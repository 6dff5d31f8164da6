package fencing

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Header is the field of a request that carries the fencing number of the sender, in decimal.
const Header = "Fencing-Number"

// SetHeader sets the number of a request, in place of one that it may have. It does not check the
// number: the receiver refuses the zero of a lock that is not fenced, as it should.
func SetHeader(h http.Header, number int64) { h.Set(Header, strconv.FormatInt(number, 10)) }

// FromHeader returns the number of a request. If there is no number, more than one, or a malformed
// one, the error is [ErrInvalidNumber].
func FromHeader(h http.Header) (int64, error) {
	values := h.Values(Header)
	if len(values) != 1 {
		return 0, fmt.Errorf("fencing: %w: %d header fields %s", ErrInvalidNumber, len(values), Header)
	}
	return parse(values[0])
}

// parse reads a number as SetHeader and Set write it, and in no other form.
func parse(text string) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != text {
		return 0, fmt.Errorf("fencing: %w: %.32q", ErrInvalidNumber, text)
	}
	if err := check(number); err != nil {
		return 0, err
	}
	return number, nil
}

// Handler passes requests on to next if their number is not stale for the resource that they are
// about, one at a time for each resource, as [Guard.Do] does. It answers the others itself: 409
// Conflict for a stale number, 400 Bad Request for a missing or malformed one, 503 Service
// Unavailable if the request ends while it waits. Put it before handlers that write, not before
// handlers that read.
//
// The resource is held until next returns, even while next reads a body that comes slowly. The
// time-outs of the [http.Server] bound that.
func (g *Guard) Handler(next http.Handler, resource func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, err := FromHeader(r.Header)
		if err == nil {
			err = g.Do(r.Context(), resource(r), number, func() error {
				next.ServeHTTP(w, r)
				return nil
			})
		}
		switch {
		case err == nil:
		case errors.Is(err, ErrStale):
			http.Error(w, err.Error(), http.StatusConflict)
		case errors.Is(err, ErrInvalidNumber):
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}
