package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// A comparison is all that was measured, and on what.
type comparison struct {
	Server     string // its version
	Go         string
	Processors int
	Load       string // before it began
	Rows       []rows.Measured
}

// measureAll measures rows, and says on diag how far it is.
func measureAll(ctx context.Context, chosen []rows.Row, length time.Duration, diag io.Writer) (comparison, error) {
	average, busy := measure.Average()
	if busy {
		_, _ = fmt.Fprintf(diag, "the machine is busy (load average %s): figures that rest on time may have no conclusion\n", average)
	}
	all := comparison{Go: strings.TrimPrefix(runtime.Version(), "go"), Processors: runtime.NumCPU(), Load: average}
	version, err := serverVersion(ctx)
	if err != nil {
		return comparison{}, err
	}
	all.Server = version
	for _, row := range chosen {
		_, _ = fmt.Fprintf(diag, "%-8s ", row.Name)
		measured, err := row.Measure(ctx, length)
		if err != nil {
			_, _ = fmt.Fprintln(diag, "failed")
			return comparison{}, err
		}
		_, _ = fmt.Fprintf(diag, "%3.0f s, load: %s\n", measured.Took.Seconds(), measured.Load)
		all.Rows = append(all.Rows, measured)
	}
	return all, nil
}

// serverVersion asks a server that it starts for that.
func serverVersion(ctx context.Context) (string, error) {
	server, err := measure.StartServer()
	if err != nil {
		return "", err
	}
	defer server.Stop()
	return server.Version(ctx)
}

// row finds a row by its name.
func (c comparison) row(name string) (rows.Measured, bool) {
	for _, row := range c.Rows {
		if row.Name == name {
			return row, true
		}
	}
	return rows.Measured{}, false
}

// madeOn says on what everything was measured.
func (c comparison) madeOn() string {
	most := 0.
	for _, row := range c.Rows {
		most = max(most, row.Load.Others)
	}
	return fmt.Sprintf("Redis %s, Go %s, %d processors that the servers and the clients share; "+
		"load average before %s; other processes took up to %.0f %% of the machine",
		c.Server, c.Go, c.Processors, c.Load, 100*most)
}

func (c comparison) json(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(c)
}
