package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
)

// text prints everything, row by row.
func (c comparison) text(out io.Writer) error {
	text := c.madeOn() + "\n"
	for _, row := range c.Rows {
		text += fmt.Sprintf("\n%s: %s (load: %s)\n", row.Title, row.About, row.Load)
		for _, t := range figures(row, withSpread) {
			text += t.text()
		}
		if len(row.Claims) > 0 {
			text += "\n" + claims(row).text()
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

// markdown prints what a page shows.
func (c comparison) markdown(out io.Writer) error {
	for _, p := range c.parts() {
		if _, err := fmt.Fprintf(out, "<!-- %s -->\n%s\n", p.Name, p.Text); err != nil {
			return err
		}
	}
	return nil
}

// withSpread writes a figure with its quartiles, where they are apart.
func withSpread(f rows.Figure) string {
	median, low, high := f.Unit.Format(f.Value.Median), f.Unit.Format(f.Value.Low), f.Unit.Format(f.Value.High)
	if low == high {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, low, high)
}

// medianOnly writes a figure without its spread.
func medianOnly(f rows.Figure) string { return f.Unit.Format(f.Value.Median) }

// figures are the tables of a row: one of all metrics if nothing grows, else one for each metric.
func figures(row rows.Measured, write func(rows.Figure) string) []table {
	sides := distinct(row.Figures, func(f rows.Figure) string { return f.By })
	metrics := distinct(row.Figures, func(f rows.Figure) string { return f.Metric })
	if row.Grows == "" {
		return []table{fill("", sides, metrics, func(side, metric string) string {
			return cell(row, write, func(f rows.Figure) bool { return f.By == side && f.Metric == metric })
		})}
	}
	places := distinct(row.Figures, func(f rows.Figure) int { return f.At })
	slices.Sort(places)
	var tables []table
	for _, metric := range metrics {
		tables = append(tables, fill(metric+", by "+row.Grows, sides, places, func(side string, at int) string {
			return cell(row, write, func(f rows.Figure) bool { return f.By == side && f.Metric == metric && f.At == at })
		}))
	}
	return tables
}

// fill makes a table with a line for each side.
func fill[C any](corner string, sides []string, columns []C, at func(side string, column C) string) table {
	head := []string{corner}
	for _, column := range columns {
		head = append(head, title(column))
	}
	t := table{head}
	for _, side := range sides {
		line := []string{side}
		for _, column := range columns {
			line = append(line, at(side, column))
		}
		t = append(t, line)
	}
	return t
}

// title is what stands above a column.
func title(of any) string {
	if n, ok := of.(int); ok {
		return groupedInt(n)
	}
	return fmt.Sprint(of)
}

// cell writes the one figure that is meant, or nothing.
func cell(row rows.Measured, write func(rows.Figure) string, meant func(rows.Figure) bool) string {
	if i := slices.IndexFunc(row.Figures, meant); i >= 0 {
		return write(row.Figures[i])
	}
	return ""
}

// claims is the table of what has a limit.
func claims(row rows.Measured) table {
	t := table{{"limit", row.Grows, "figure", "has to be", "verdict"}}
	for _, c := range row.Claims {
		at := ""
		if c.At > 0 {
			at = groupedInt(c.At)
		}
		t = append(t, []string{
			c.What, at, withSpread(rows.Figure{Unit: c.Unit, Value: c.Value}), has(c), c.Verdict.String(),
		})
	}
	return t
}

// has says what the limit of a claim is.
func has(c rows.Claim) string {
	if c.Limit.AtLeast {
		return "at least " + c.Unit.Format(c.Limit.Value)
	}
	return "at most " + c.Unit.Format(c.Limit.Value)
}

// distinct returns each value once, in the order in which they come.
func distinct[F any, V comparable](all []F, of func(F) V) []V {
	var values []V
	for _, f := range all {
		if v := of(f); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
