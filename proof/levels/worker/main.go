// Worker does operations of one version of the library, and counts what they use. The program levels builds it once for each
// version, and tells it by its input what to do: an order a line, a usage a line in return. It ends with its input.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/internal/worker"
	"github.com/seed-14de3678/redislock/proof/levels/course"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "worker: want the address of a server")
		os.Exit(2)
	}
	if err := work(context.Background(), os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// work does what the lines of in ask for, on the server at addr.
func work(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	rdb, asks := redis.NewClient(&redis.Options{Addr: addr}), redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _, _ = rdb.Close(), asks.Close() }()
	served := overNetwork(rdb)
	defer served.locks.close()
	alone := inMemory(addr)
	defer func() { _ = alone.rdb.Close() }()
	defer alone.locks.close()
	m := meter{asks}
	return worker.Work(in, out, func(order course.Order) (course.Usage, error) {
		s, kind := served, course.Kinds[order.Kind]
		if kind.Place == course.Memory {
			s = alone
		}
		usage, err := s.block(ctx, m, kind, order)
		if err != nil {
			usage = course.Usage{Failed: err.Error()}
		}
		return usage, nil
	})
}
