package measure

// A Metric is one figure of a [Usage], for each operation.
type Metric struct {
	Name string
	Unit Unit
	of   func(Usage) float64
}

// The metrics that there are.
var (
	Commands       = Metric{"commands", Count, func(u Usage) float64 { return perOp(float64(u.Commands), u) }}
	Allocs         = Metric{"allocations", Count, func(u Usage) float64 { return perOp(float64(u.Allocs), u) }}
	Time           = Metric{"time", Micros, func(u Usage) float64 { return perOp(micros(u.Wall), u) }}
	ServerCPU      = Metric{"server CPU", Micros, func(u Usage) float64 { return perOp(micros(u.ServerCPU), u) }}
	ClientCPU      = Metric{"client CPU", Micros, func(u Usage) float64 { return perOp(micros(u.ClientCPU), u) }}
	CPU            = Metric{"CPU of both", Micros, func(u Usage) float64 { return perOp(micros(u.ServerCPU+u.ClientCPU), u) }}
	Network        = Metric{"network", Bytes, func(u Usage) float64 { return perOp(float64(u.Bytes), u) }}
	PerSecond      = Metric{"a second", PerSec, func(u Usage) float64 { return float64(u.Ops) / u.Wall.Seconds() }}
	PerCPU         = Metric{"a second of CPU", PerSec, func(u Usage) float64 { return float64(u.Ops) / (u.ServerCPU + u.ClientCPU).Seconds() }}
	CallsPerSecond = Metric{"calls of scripts a second", PerSec, func(u Usage) float64 { return float64(u.Calls) / u.Wall.Seconds() }}
	ServerShare    = Metric{"server CPU a second", Micros, func(u Usage) float64 { return micros(u.ServerCPU) / u.Wall.Seconds() }}
	ClientShare    = Metric{"client CPU a second", Micros, func(u Usage) float64 { return micros(u.ClientCPU) / u.Wall.Seconds() }}
)

func perOp(value float64, u Usage) float64 { return value / float64(max(u.Ops, 1)) }

func micros(d interface{ Nanoseconds() int64 }) float64 { return float64(d.Nanoseconds()) / 1e3 }
