package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A History is the events of all processes of one round, the earliest first.
type History struct {
	Events []Event
}

// Read reads all files of a folder that end with .jsonl. A last line that is not whole is that of a process which was killed
// while it wrote; any other line that cannot be read is an error.
func Read(folder string) (*History, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	h := &History{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		for i, line := range lines {
			if !bytes.HasSuffix(line, []byte("\n")) {
				continue // the end of the file, or of its process
			}
			var e Event
			if err := json.Unmarshal(line, &e); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			h.Events = append(h.Events, e)
		}
	}
	h.Sort()
	return h, nil
}

// Sort puts the earliest events first, and leaves those of one moment in the order in which they were written.
func (h *History) Sort() {
	slices.SortStableFunc(h.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}

// An Operation is a Call and its Return as one.
type Operation struct {
	Event                  // all that is known; At is the moment of the Call
	Returned bool          // there is a Return
	End      time.Duration // of the Return; the greatest Duration if there is none
}

// Operations returns all operations in the order of their calls.
func (h *History) Operations() []Operation {
	const forever = time.Duration(1<<63 - 1)
	type id struct{ process, op int }
	var all []Operation
	at := map[id]int{}
	for _, e := range h.Events {
		key := id{e.Process, e.Op}
		switch e.Kind {
		case Call:
			at[key] = len(all)
			all = append(all, Operation{Event: e, End: forever})
		case Return:
			i, ok := at[key]
			if !ok {
				continue
			}
			o := &all[i]
			o.Returned, o.End = true, e.At
			o.Outcome, o.Error = e.Outcome, e.Error
			o.Until, o.Fence = cmp.Or(e.Until, o.Until), cmp.Or(e.Fence, o.Fence)
			o.Is, o.Held, o.InWay = e.Is, e.Held, e.InWay
			o.Watched, o.Renewed, o.Came = e.Watched, e.Renewed, e.Came
			if e.Lock != 0 {
				o.Lock = e.Lock
			}
			if len(e.Write)+len(e.Read) > 0 {
				o.Write, o.Read = e.Write, e.Read
			}
		}
	}
	return all
}
