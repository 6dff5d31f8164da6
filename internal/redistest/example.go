package redistest

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ForExample starts a server inside the test, and a client for it; stop ends both.
// Each Example that needs Redis begins with it. In a program, rdb is
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//
// If there is no server the reason is a part of the Example's output, which then
// fails.
func ForExample() (rdb *redis.Client, stop func()) {
	var addr string
	server, err := LaunchMini()
	if err != nil {
		fmt.Println(err)
	} else {
		addr = server.Addr()
	}
	rdb = redis.NewClient(&redis.Options{Addr: addr})
	return rdb, func() {
		_ = rdb.Close()
		if server != nil {
			server.Stop()
		}
	}
}
