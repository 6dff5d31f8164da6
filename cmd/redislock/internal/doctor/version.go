package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A defect is something of certain versions that matters to locks.
type defect struct {
	name    string // Redis or Valkey
	from    string // the first version that has it
	fixed   string // the first that has not
	status  Status
	cluster bool // it matters on a Cluster alone
	what    string
	remedy  string // what helps beside another version; may be empty
}

// defects are what the release notes (00-RELEASENOTES of the branches 6.2 to 8.0 of redis/redis, and 7.2 and 8.0 of
// valkey-io/valkey) say of scripts, replication, expiry and sharded pub/sub. The numbers are those of the pull requests.
var defects = []defect{
	{"Redis", "0", "5.0.0", Fault, false, "it refuses the scripts of locks, because they write after they have read the clock", ""}, // docs/operating.md
	{"Redis", "5.0.0", "6.2.0", Warning, false, "Options.Queue does not work: a lock that was handed over stays locked until its ttl", ""},
	{"Redis", "6.2.0", "7.0.0", Warning, true, "Options.Queue does not work on a Cluster, because there is no sharded pub/sub", ""},
	// "Add checks for min-slave-* configs when evaluating Lua scripts", #10160, in 6.2.7 and 7.0 RC2.
	{"Redis", "0", "6.2.7", Warning, false, "scripts do not heed min-replicas-to-write, so a primary that is cut off goes on granting locks (#10160)", ""},
	// "fix crash on a script call with many arguments, a regression in v6.2.6", #9809.
	{"Redis", "6.2.6", "6.2.7", Fault, false, "it crashes when a script calls a command with many arguments, as a lock of many keys does (#9809)", ""},
	// "Script that made modification will not break with unexpected NOREPLICAS error", #10855.
	{"Redis", "7.0.0", "7.0.3", Fault, false, "min-replicas-to-write can stop a script in the middle, so that a lock of many keys is taken in part (#10855)", ""},
	// "Sharded pubsub publish emits smessage instead of message", #10792.
	{"Redis", "7.0.0", "7.0.1", Warning, true, "messages of sharded pub/sub have another type, so those who stand in line hear nothing (#10792)", ""},
	// "Fix crash when a key is lazy expired during cluster key migration", #11176.
	{"Redis", "7.0.0", "7.0.5", Warning, true, "it crashes when a key ends while its slot is moved, and every lock is a key that ends (#11176)", ""},
	// "Fix a crash when SPUBLISH is used after passing the cluster-link-sendbuf-limit", #11752.
	{"Redis", "7.0.0", "7.0.9", Warning, true, "SPUBLISH, which tells those who stand in line, can crash it (#11752)", "or set cluster-link-sendbuf-limit 0."},
	// "fix a race condition where a slot migration may revert on a subsequent failover or node joining", #12344, in 7.0.13 and 7.2.0.
	{"Redis", "7.0.0", "7.0.13", Warning, true, "a slot that was moved may come back with a fail-over, without the locks taken since (#12344)", ""},
	// "Conversion of numbers in Lua args to redis args can fail. Bug introduced in 7.2.0", #13115.
	{"Redis", "7.2.0", "7.2.5", Warning, false, "numbers that a script gives to a command can be wrong (#13115)", ""},
	{"Valkey", "7.2.0", "7.2.6", Warning, false, "numbers that a script gives to a command can be wrong (Redis #13115)", ""},
	// CVE-2025-49844: docker-library/official-images#20011 for Redis, valkey-io/valkey#3473 for Valkey 8.1.
	{"Redis", "6.2.0", "6.2.20", Warning, false, lua, distribution},
	{"Redis", "7.2.0", "7.2.11", Warning, false, lua, distribution},
	{"Redis", "7.4.0", "7.4.6", Warning, false, lua, distribution},
	{"Redis", "8.0.0", "8.0.4", Warning, false, lua, distribution},
	{"Redis", "8.2.0", "8.2.2", Warning, false, lua, distribution},
	{"Valkey", "8.1.0", "8.1.4", Warning, false, lua, distribution},
	// No releases any more: 7.0 since July 2024 (gitlab-org/distribution/team-tasks#1694), and what is older than 6.2 before that.
	{"Redis", "7.0.0", "7.2.0", Warning, false, "its makers have mended nothing in it since July 2024, nor CVE-2025-49844", distribution},
	{"Redis", "0", "6.2.0", Warning, false, "its makers mend nothing in it any more", distribution},
}

const (
	lua          = "whoever may run scripts can run any code in the server (CVE-2025-49844); users of locks may run scripts"
	distribution = "or see whether your distribution or service has mended it under the same number."
)

// checkVersion compares versions with those that have a defect.
func checkVersion(ctx context.Context, e *exam) Finding {
	if !e.answered(e.infoErr, byInfo) {
		return Finding{}
	}
	name, version := e.makes(ctx)
	if name == "" {
		return unknown("the server is none whose versions are known", "")
	}
	return judgeVersion(name, version, e.info["redis_mode"] == "cluster")
}

// judgeVersion puts together what a version has. The worst is told first.
func judgeVersion(name, version string, cluster bool) Finding {
	has := defectsOf(name, version, cluster)
	if len(has) == 0 {
		return fine("%s %s: nothing is known against it", name, version)
	}
	remedy, means := "", ""
	var others []string
	for _, d := range has {
		remedy = cmp.Or(remedy, d.remedy)
		others = append(others, d.what)
	}
	if others = others[1:]; len(others) > 0 {
		means = "besides: " + strings.Join(others, "; ") + "."
	}
	return bad(has[0].status, fmt.Sprintf("%s %s: %s", name, version, has[0].what), means,
		fmt.Sprintf("take %s %s or later; %s", name, without(name, version, cluster), cmp.Or(remedy, "later versions have it mended.")))
}

// defectsOf are those of a version, the worst first.
func defectsOf(name, version string, cluster bool) []defect {
	var has []defect
	for _, d := range defects {
		if d.name == name && (cluster || !d.cluster) && compare(version, d.from) >= 0 && compare(version, d.fixed) < 0 {
			has = append(has, d)
		}
	}
	slices.SortStableFunc(has, func(a, b defect) int { return cmp.Compare(a.status, b.status) }) // fault, warning
	return has
}

// without is the first later version against which nothing is known.
func without(name, version string, cluster bool) string {
	has := defectsOf(name, version, cluster)
	if len(has) == 0 {
		return version
	}
	latest := slices.MaxFunc(has, func(a, b defect) int { return compare(a.fixed, b.fixed) })
	return without(name, latest.fixed, cluster)
}

// compare compares versions number by number.
func compare(a, b string) int { return slices.Compare(numbersOf(a), numbersOf(b)) }

func numbersOf(version string) []int {
	all := make([]int, 4)
	for i, text := range strings.SplitN(version, ".", len(all)) {
		all[i], _ = strconv.Atoi(text)
	}
	return all
}
