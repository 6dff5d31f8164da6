package measure

import "time"

// A Metric is one figure of a [Usage].
type Metric struct {
	Name string
	Unit Unit
	of   func(Usage) float64
}

// The metrics of one operation.
var (
	Commands  = each("server commands", Count, func(u Usage) float64 { return float64(u.Commands) })
	Calls     = each("calls of scripts", Count, func(u Usage) float64 { return float64(u.Calls) })
	Allocs    = each("allocations", Count, func(u Usage) float64 { return float64(u.Allocs) })
	Network   = each("network", Bytes, func(u Usage) float64 { return float64(u.Bytes) })
	Time      = each("time", Micros, func(u Usage) float64 { return micros(u.Wall) })
	ServerCPU = each("server CPU", Micros, func(u Usage) float64 { return micros(u.ServerCPU) })
	ClientCPU = each("client CPU", Micros, func(u Usage) float64 { return micros(u.ClientCPU) })
	CPU       = each("CPU of both", Micros, func(u Usage) float64 { return micros(u.ServerCPU + u.ClientCPU) })
)

// The metrics of a second.
var (
	PerSecond      = aSecond("a second", PerSec, func(u Usage) float64 { return float64(u.Ops) })
	CallsPerSecond = aSecond("calls of scripts a second", PerSec, func(u Usage) float64 { return float64(u.Calls) })
	ServerShare    = aSecond("server CPU a second", Micros, func(u Usage) float64 { return micros(u.ServerCPU) })
	ClientShare    = aSecond("client CPU a second", Micros, func(u Usage) float64 { return micros(u.ClientCPU) })
	PerCPU         = Metric{"a second of CPU", PerSec, func(u Usage) float64 {
		return float64(u.Ops) / (u.ServerCPU + u.ClientCPU).Seconds()
	}}
)

// each divides by the operations.
func each(name string, unit Unit, of func(Usage) float64) Metric {
	return Metric{name, unit, func(u Usage) float64 { return of(u) / float64(max(u.Ops, 1)) }}
}

// aSecond divides by the time that has passed.
func aSecond(name string, unit Unit, of func(Usage) float64) Metric {
	return Metric{name, unit, func(u Usage) float64 { return of(u) / u.Wall.Seconds() }}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
