package free

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// A result is what has become of one key.
type result struct {
	key    string
	broken []redislock.Holder
	failed error               // nobody was broken, or it is not known
	now    *redislock.KeyState // who has the key behind it; nil: not known
}

// breakAll takes the keys away that somebody holds, one part after the other, and says what has become of each of them.
// It goes on behind a part that has failed. Keys that were free are let be: who has taken one since was not meant.
func (b *breaking) breakAll(ctx context.Context, before []redislock.KeyState) error {
	var held []string
	for i := range before {
		if s := &before[i]; len(s.Holders) > 0 {
			held = append(held, s.Key)
		} else if err := b.write(result{key: s.Key, now: s}); err != nil {
			return err
		}
	}
	parts, failed := partsOf(b.conn, held), 0
	for _, keys := range parts {
		results, err := b.breakPart(ctx, keys)
		for _, r := range results {
			if err := b.write(r); err != nil {
				return err
			}
		}
		switch {
		case err != nil && len(parts) == 1:
			return err
		case err != nil:
			failed++
			cli.Say(b.to.Err, "redislock break: %v\n", err)
		}
	}
	if failed > 0 {
		return cli.Exit(cli.Failed, fmt.Errorf("%d of %s have failed; what was not broken is held as before", failed, count.Of(len(parts), "part")))
	}
	return nil
}

// breakPart takes some keys away in one step, which somebody held a moment ago.
func (b *breaking) breakPart(ctx context.Context, keys []string) (results []result, err error) {
	broken, err := b.client.Break(ctx, keys, b.reason)
	if err != nil {
		err = explain(ctx, keys, b.server.Propose("show"), err)
		for _, key := range keys {
			results = append(results, result{key: key, failed: err})
		}
		return results, err
	}
	byKey := make(map[string][]redislock.Holder)
	for _, one := range broken {
		byKey[one.Key] = append(byKey[one.Key], one)
	}
	for _, key := range keys {
		results = append(results, result{key: key, broken: byKey[key]})
	}
	if len(broken) == 0 {
		cli.Say(b.to.Err, "nobody was broken, because the keys had become free, or the answer that says who it was is lost\n")
	}
	states, err := b.client.Inspect(ctx, keys)
	if err != nil {
		cli.Say(b.to.Err, "who has the keys now is not known: %v\n", cli.Explain(ctx, err))
		return results, nil
	}
	for i := range states {
		results[i].now = &states[i]
	}
	return results, nil
}

// explain says what an error of Break means for the keys.
func explain(ctx context.Context, keys []string, shows string, err error) error {
	if !errors.Is(err, redislock.ErrUnknownOutcome) {
		return cli.Explain(ctx, err)
	}
	status := cli.Unavailable
	if ctx.Err() != nil {
		status = cli.Interrupted
	}
	return cli.Exit(status, fmt.Errorf("it is not known whether %s: it was done, or the request is still on its way; "+
		"\"%s\" says who holds a key (%w)", wasBroken(keys), shows, err))
}

func wasBroken(keys []string) string {
	if len(keys) == 1 {
		return cli.Text(keys[0]) + " was broken"
	}
	return fmt.Sprintf("%s and %s were broken", cli.Text(keys[0]), count.Of(len(keys)-1, "more key"))
}

// write says what has become of a key.
func (b *breaking) write(r result) error {
	if *b.json {
		return cli.WriteJSON(b.to.Out, b.object(r))
	}
	if r.failed == nil { // else it is said once for all the keys of the part
		_, err := fmt.Fprint(b.to.Out, b.text(r))
		return err
	}
	return nil
}

// text is a result for people.
func (b *breaking) text(r result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: ", cli.Text(r.key))
	if len(r.broken) == 0 {
		text.WriteString("nobody is broken\n")
	}
	for i, one := range r.broken {
		fmt.Fprintf(&text, "%s%s%s\n", []string{"taken from ", "  and from "}[min(i, 1)], describe(one), b.remark(one))
	}
	if r.now != nil {
		fmt.Fprintf(&text, "  now %s\n%s", who(*r.now), next(*r.now))
	}
	return text.String()
}

// remark says of a holder that it came after the question.
func (b *breaking) remark(one redislock.Holder) string {
	if b.shown == nil || b.shown[heldBy(one)] {
		return ""
	}
	return " (it came after you were asked)"
}

// A brokenKey is a result as JSON.
type brokenKey struct {
	cli.KeyName
	Broken []brokenHolder `json:"broken"`          // whom it was taken from
	Now    *cli.KeyObject `json:"now,omitempty"`   // none: not known
	Error  string         `json:"error,omitempty"` // none: it was done
	Dry    bool           `json:"dry_run,omitempty"`
}

// A brokenHolder is somebody who held a key.
type brokenHolder struct {
	Mode redislock.Mode `json:"mode"`
	cli.HolderObject
	New bool `json:"new"` // it came after the question
}

func (b *breaking) object(r result) brokenKey {
	object := brokenKey{KeyName: cli.NameOf(r.key), Broken: []brokenHolder{}}
	for _, one := range r.broken {
		object.Broken = append(object.Broken, brokenHolder{one.Mode, cli.HolderObjectOf(one), b.remark(one) != ""})
	}
	if r.failed != nil {
		object.Error = r.failed.Error()
	}
	if r.now != nil {
		now := cli.KeyObjectOf(*r.now, b.conn.Prefix)
		object.Now = &now
	}
	return object
}
