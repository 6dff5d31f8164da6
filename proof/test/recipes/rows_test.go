package recipes_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A row is the columns of one row, without its id.
type row map[string]int64

// rows are a table that is called stock, and its driver. It does what a statement says, in one step: it knows UPDATE and
// SELECT of whole numbers, with the comparisons = and <=, and refuses every other statement. So a condition that is missing
// is not made up for. It is no PostgreSQL: what that does with these statements was tried there.
type rows struct {
	mu     sync.Mutex
	of     map[int64]row
	arrive func(statement string, args []driver.NamedValue) // called before a statement is executed; nil: nothing
}

// stored is the row with the id 9.
func (r *rows) stored() row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.of[9])
}

func (r *rows) Connect(context.Context) (driver.Conn, error) { return rowsConn{r}, nil }
func (r *rows) Driver() driver.Driver                        { return nil }

// A rowsConn is a connection to rows.
type rowsConn struct{ *rows }

func (c rowsConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c rowsConn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (c rowsConn) Close() error                        { return nil }

var (
	update = regexp.MustCompile(`^UPDATE stock SET (.+) WHERE (.+)$`)
	query  = regexp.MustCompile(`^SELECT (\w+) FROM stock WHERE (.+)$`)
	term   = regexp.MustCompile(`^(\w+) (=|<=) \$(\d+)$`)
)

func (c rowsConn) ExecContext(_ context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if c.arrive != nil {
		c.arrive(statement, args)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sets, found, err := c.find(update, statement, args)
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		for _, set := range strings.Split(sets, ", ") {
			column, op, value, err := parse(set, args)
			if err != nil || op != "=" {
				return nil, fmt.Errorf("%w: %s", errors.ErrUnsupported, set)
			}
			r[column] = value
		}
	}
	return driver.RowsAffected(len(found)), nil
}

func (c rowsConn) QueryContext(_ context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	column, found, err := c.find(query, statement, args)
	if err != nil {
		return nil, err
	}
	result := &answer{column: column}
	for _, r := range found {
		result.values = append(result.values, r[column])
	}
	return result, nil
}

// find takes a statement of a form apart. It returns what is to be done, and with which rows.
func (c rowsConn) find(form *regexp.Regexp, statement string, args []driver.NamedValue) (what string, found []row, err error) {
	parts := form.FindStringSubmatch(statement)
	if parts == nil {
		return "", nil, fmt.Errorf("%w: %s", errors.ErrUnsupported, statement)
	}
	found, err = c.where(parts[2], args)
	return parts[1], found, err
}

// where returns the rows for which all of the comparisons hold.
func (c rowsConn) where(conditions string, args []driver.NamedValue) (found []row, err error) {
	for id, r := range c.of {
		holds := true
		for _, condition := range strings.Split(conditions, " AND ") {
			column, op, value, err := parse(condition, args)
			if err != nil {
				return nil, err
			}
			stands := r[column]
			if column == "id" {
				stands = id
			}
			holds = holds && (stands == value || op == "<=" && stands < value)
		}
		if holds {
			found = append(found, r)
		}
	}
	return found, nil
}

// parse reads a column, a comparison or an assignment, and the argument that stands behind it.
func parse(text string, args []driver.NamedValue) (column, op string, value int64, err error) {
	m := term.FindStringSubmatch(text)
	if m == nil {
		return "", "", 0, fmt.Errorf("%w: %s", errors.ErrUnsupported, text)
	}
	n, err := strconv.Atoi(m[3])
	if err != nil || n < 1 || n > len(args) {
		return "", "", 0, fmt.Errorf("there is no argument for %s", text)
	}
	return m[1], m[2], args[n-1].Value.(int64), nil
}

// An answer is the values of one column.
type answer struct {
	column string
	values []int64
}

func (a *answer) Columns() []string { return []string{a.column} }
func (a *answer) Close() error      { return nil }

func (a *answer) Next(to []driver.Value) error {
	if len(a.values) == 0 {
		return io.EOF
	}
	to[0], a.values = a.values[0], a.values[1:]
	return nil
}
