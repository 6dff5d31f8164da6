package contract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// nobody checks a lock that no Obtain has returned, such as the nil lock of a caller that ignored the error. Each of
// its methods that can fail says that nothing is held, and the others return nothing.
func nobody(t *testing.T, m Maker) {
	t.Helper()
	for name, lock := range m.nobody {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := reflect.ValueOf(lock)
			for i := range v.NumMethod() {
				method := v.Type().Method(i).Name
				for _, result := range v.Method(i).Call(arguments(t, method, v.Method(i).Type())) {
					wantNothing(t, method, result.Interface())
				}
			}
			if got := fmt.Sprint(lock); got != "no lock" {
				t.Errorf("it is printed as %q", got)
			}
		})
	}
}

// callers is the key of what a caller has put into its context.
type callers struct{}

// arguments makes the arguments of a method.
func arguments(t *testing.T, method string, of reflect.Type) (arguments []reflect.Value) {
	t.Helper()
	for in := range of.Ins() {
		var argument any
		switch in {
		case reflect.TypeFor[context.Context]():
			argument = context.WithValue(t.Context(), callers{}, true)
		case reflect.TypeFor[time.Duration]():
			argument = long
		case reflect.TypeFor[int64]():
			argument = int64(7)
		case reflect.TypeFor[[]string]():
			argument = []string{"a"}
		default:
			t.Fatalf("%s has an argument of a type that this test does not know: %v", method, in)
		}
		arguments = append(arguments, reflect.ValueOf(argument))
	}
	return arguments
}

// wantNothing checks a result of a method.
func wantNothing(t *testing.T, method string, result any) {
	t.Helper()
	switch result := result.(type) {
	case error:
		if !errors.Is(result, redislock.ErrLockNotHeld) {
			t.Errorf("%s: got error %v", method, result)
		}
	case context.Context:
		if cause := context.Cause(result); !errors.Is(cause, redislock.ErrLockNotHeld) {
			t.Errorf("%s: got a context with the cause %v", method, cause)
		}
		if result.Value(callers{}) == nil {
			t.Errorf("%s: what the caller has put into its context is gone", method)
		}
	case <-chan struct{}:
		if isClosed(result) {
			t.Errorf("%s: it is closed", method)
		}
	case nil:
		t.Errorf("%s: got no error", method)
	default:
		switch v := reflect.ValueOf(result); {
		case method == "String" || method == "GoString" || method == "LogValue":
		case v.Kind() == reflect.Slice && v.Len() == 0:
		case !v.IsZero():
			t.Errorf("%s: got %v", method, result)
		}
	}
}
