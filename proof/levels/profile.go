package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// profiledTimes is how many times longer than others a block with a profile is: a profile takes a sample each 10 ms.
const profiledTimes = 40

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// profile writes a profile of each kind, as the first version does it, into a folder.
func (b *bench) profile(folder string, kinds []int) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for _, i := range kinds {
		kind := course.Kinds[i]
		order := course.Order{
			Kind: i, Ops: profiledTimes * kind.Ops,
			Profile: filepath.Join(folder, strings.Trim(notInNames.ReplaceAllString(strings.ToLower(kind.Name), "-"), "-")+".pprof"),
		}
		if _, err := b.sides[0].do(order); err != nil {
			return err
		}
		fmt.Println(order.Profile)
	}
	return nil
}
