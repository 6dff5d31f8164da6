package quorum

import (
	"context"
	"time"
)

type leaver interface {
	Leave(context.Context, time.Duration) error
}
