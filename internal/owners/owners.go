// Package owners knows the tokens under which this process holds keys.
package owners

import "sync/atomic"

// GuardsOff has no request set a guard against another: tests show with it what guards are for. Nobody else
// sets it.
var GuardsOff atomic.Bool
