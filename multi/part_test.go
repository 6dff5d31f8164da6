package multi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

func TestBySlot(t *testing.T) {
	t.Parallel()
	// The slots: foo 12182, bar 5061, hello 866.
	for _, test := range []struct {
		name        string
		write, read []string
		want        []multi.Part
	}{
		{name: "nothing"},
		{
			name: "by slot number, in the given order", write: []string{"foo", "hello", "{foo}2", "{foo}1"}, read: []string{"bar"},
			want: []multi.Part{
				{Set: redislock.Set{Write: []string{"hello"}}},
				{Set: redislock.Set{Read: []string{"bar"}}},
				{Set: redislock.Set{Write: []string{"foo", "{foo}2", "{foo}1"}}},
			},
		},
		{
			name: "once each, and rather to write", write: []string{"foo", "bar", "foo"}, read: []string{"{bar}x", "foo", "{bar}x"},
			want: []multi.Part{
				{Set: redislock.Set{Write: []string{"bar"}, Read: []string{"{bar}x"}}},
				{Set: redislock.Set{Write: []string{"foo"}}},
			},
		},
	} {
		got := multi.BySlot(nil, redislock.Set{Write: test.write, Read: test.read})
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(multi.Part{}, "Client")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	client := new(redislock.Client)
	for _, p := range multi.BySlot(client, redislock.Set{Write: []string{"foo", "bar"}}) {
		if p.Client != client || p.Place != "" {
			t.Errorf("got part %+v", p)
		}
	}
}
