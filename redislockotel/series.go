package redislockotel

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-14de3678/redislock"
)

// mostNames is how many names of locks are told apart. A name with an order number in it would make as many
// time series as there are orders, and be kept for ever.
const mostNames = 200

// otherName stands for all names beyond the first mostNames.
const otherName = "_OTHER"

// A label tells one series from another.
type label struct {
	name string
	mode redislock.Mode
	way  string
}

// A series has the measurements of all locks with the same label. The counts are guarded by the ledger.
type series struct {
	attributes []attribute.KeyValue
	plain      measured
	failed     map[string]measured // by error type, guarded by the ledger
	observe    []metric.ObserveOption
	start      []trace.SpanStartOption
	waitName   string
	holdName   string

	waiting, held, expired int64
	begun                  bool // a lock of it was obtained
	attached               bool // its locks are handles of Attach, which neither wait nor are held
}

// measured are the attributes of a measurement, as options that are made once.
type measured struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newMeasured(attributes []attribute.KeyValue) measured {
	o := metric.WithAttributeSet(attribute.NewSet(attributes...))
	return measured{[]metric.AddOption{o}, []metric.RecordOption{o}}
}

func newSeries(fixed []attribute.KeyValue, l label) *series {
	name, attributes := "lock", slices.Clone(fixed)
	if l.name != "" {
		name = l.name
		attributes = append(attributes, nameKey.String(name))
	}
	attributes = append(attributes, modeKey.String(string(l.mode)))
	if l.way != "" {
		attributes = append(attributes, wayKey.String(l.way))
	}
	set := metric.WithAttributeSet(attribute.NewSet(slices.Clone(attributes)...))
	return &series{
		attributes: attributes,
		plain:      newMeasured(slices.Clone(attributes)),
		failed:     map[string]measured{},
		observe:    []metric.ObserveOption{set},
		start:      []trace.SpanStartOption{trace.WithAttributes(attributes...)},
		waitName:   "wait " + name,
		holdName:   "hold " + name,
		attached:   l.way == "",
	}
}

// measuredLocked are the attributes of a failure of this kind; of a success if kind is empty.
func (s *series) measuredLocked(kind string) measured {
	if kind == "" {
		return s.plain
	}
	m, ok := s.failed[kind]
	if !ok {
		m = newMeasured(append(slices.Clone(s.attributes), errorKey.String(kind)))
		s.failed[kind] = m
	}
	return m
}

// legible makes valid text of a name. Otherwise exporters would refuse it, with all that they export together with it.
func legible(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
