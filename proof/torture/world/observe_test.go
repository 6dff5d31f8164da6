package world_test

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// restarts reports whether the process is another than at the first call.
func (p *probe) restarts() func() bool {
	first := ""
	return func() bool {
		id := p.admin.InfoMap(context.Background(), "server").Item("Server", "run_id")
		if first == "" {
			first = id
		}
		return id != "" && id != first
	}
}

// loses reports whether a key that was planted is gone. It is none that can be taken for a lock.
func (p *probe) loses() func() bool {
	ctx, key, planted := context.Background(), p.t.Name()+" planted", false
	return func() bool {
		n, err := p.admin.Exists(ctx, key).Result()
		if planted && err == nil && n == 0 {
			return true
		}
		if !planted && err == nil {
			_, err = p.admin.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.HSet(ctx, key, "field", "value")
				pipe.Expire(ctx, key, time.Hour)
				return nil
			})
			planted = err == nil
		}
		return false
	}
}

// forgetsScripts reports whether a script that was loaded is not known any more.
func (p *probe) forgetsScripts() func() bool {
	ctx, loaded := context.Background(), ""
	return func() bool {
		if loaded == "" {
			loaded, _ = p.admin.ScriptLoad(ctx, "return 'loaded'").Result()
			return false
		}
		known, err := p.admin.ScriptExists(ctx, loaded).Result()
		return err == nil && !known[0]
	}
}

// lacks reports whether the user has fewer rights than at the first call.
func (p *probe) lacks() func() bool {
	most := 0
	return func() bool {
		users, _ := p.admin.Do(context.Background(), "ACL", "LIST").StringSlice()
		for _, u := range users {
			if n := strings.Count(u, " +"); strings.HasPrefix(u, "user app ") {
				most = max(most, n)
				return n < most
			}
		}
		return false
	}
}

// clock reports what is said of how far the server's clock is ahead.
func (p *probe) clock(ok func(ahead time.Duration) bool) func() bool {
	return func() bool {
		now, err := p.admin.Time(context.Background()).Result()
		return err == nil && ok(time.Until(now))
	}
}
