// Package small is what a small program does with go-redis.
package small

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

var script = redis.NewScript(`return redis.call("DECR", KEYS[1])`)

// Use sends a few usual commands to the server that the command line names.
func Use(ctx context.Context) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: os.Args[1]})
	Check(rdb.Set(ctx, "stock:9", 42, time.Hour).Err())
	left, err := rdb.Get(ctx, "stock:9").Int()
	Check(err)
	Check(script.Run(ctx, rdb, []string{"stock:9"}).Err())
	fmt.Println(left)
	return rdb
}

// Check ends the program after an error.
func Check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
