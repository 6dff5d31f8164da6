package property_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A record is a key as it is in Redis.
type record struct {
	kind string
	end  time.Time         // zero: it has none
	text string            // of a string
	of   map[string]string // the members of a sorted set and their scores, or the fields of a hash
}

// everything reads all keys at one moment. In Go that is quicker than in the Lua of miniredis.
var everything = redis.NewScript(`
local time, all = redis.call('time'), {}
for _, key in ipairs(redis.call('keys', '*')) do
  local kind, data = redis.call('type', key).ok, {}
  if kind == 'string' then
    data = {redis.call('get', key)}
  elseif kind == 'zset' then
    data = redis.call('zrange', key, 0, -1, 'withscores')
  elseif kind == 'hash' then
    data = redis.call('hgetall', key)
  end
  all[#all + 1] = {key, kind, redis.call('pexpiretime', key), data}
end
return {time[1], time[2], all}`)

// look reads all keys, and the server's clock.
func (r *run) look() (now time.Time, all map[string]record) {
	if r.mini != nil {
		return r.now(), lookInto(r.mini, r.now())
	}
	reply, err := everything.Run(r.t.Context(), r.rdb, nil).Slice()
	if err != nil {
		r.wrong("look: %v", err)
	}
	seconds, _ := strconv.ParseInt(reply[0].(string), 10, 64)
	micros, _ := strconv.ParseInt(reply[1].(string), 10, 64)
	now = time.Unix(seconds, micros*1000)
	all = map[string]record{}
	for _, entry := range reply[2].([]any) {
		entry := entry.([]any)
		key, end, data := entry[0].(string), entry[2].(int64), entry[3].([]any)
		its := record{kind: entry[1].(string), of: map[string]string{}}
		if end > 0 {
			its.end = time.UnixMilli(end)
		}
		if its.kind == "string" {
			its.text = data[0].(string)
		}
		for i := 1; i < len(data); i += 2 {
			its.of[data[i-1].(string)] = data[i].(string)
		}
		all[key] = its
	}
	return now, all
}

// lookInto reads all keys of a miniredis that was asked for something at this moment: so it knows the time.
func lookInto(mini *miniredis.Miniredis, now time.Time) map[string]record {
	all := map[string]record{}
	for _, key := range mini.Keys() {
		its := record{kind: mini.Type(key), end: now.Add(mini.TTL(key)), of: map[string]string{}}
		switch its.kind {
		case "string":
			its.text, _ = mini.Get(key)
		case "zset":
			members, _ := mini.SortedSet(key)
			for member, score := range members {
				its.of[member] = strconv.FormatFloat(score, 'f', -1, 64)
			}
		case "hash":
			fields, _ := mini.HKeys(key)
			for _, field := range fields {
				its.of[field] = mini.HGet(key, field)
			}
		}
		if mini.TTL(key) == 0 {
			its.end = time.Time{}
		}
		all[key] = its
	}
	return all
}

// compare wants Redis to hold what the model says, and nothing else.
func (r *run) compare() {
	now, all := r.look()
	for key, its := range all {
		if its.end.IsZero() {
			r.wrong("key %q has no TTL", key)
		}
	}
	for key, holds := range r.model.holds {
		its, ok := all[key]
		if !ok {
			r.wrong("key %q is not there", key)
		}
		if end := r.model.end(key); !end.has(its.end) {
			r.wrong("key %q ends at %v, want %s", key, its.end.UTC(), end)
		}
		for w, h := range holds {
			r.compareHold(key, its, w, h)
		}
		r.compareReaders(key, its, now)
		delete(all, key)
	}
	for _, key := range r.keys {
		r.compareFence(key, all, now)
		line := slot.Beside("line", key)
		for member, score := range all[line].of {
			if place, err := strconv.ParseFloat(score, 64); err != nil || place < 1<<52 {
				r.wrong("%q stands in the line of %q, and nobody waits", member, key)
			}
		}
		if its, ok := all[line]; ok && (its.kind != "zset" || its.end.After(now.Add(6*time.Minute))) {
			r.wrong("the line of %q is a %s that ends at %v", key, its.kind, its.end.UTC())
		}
		delete(all, line)
	}
	for key, its := range all {
		r.wrong("key %q is there, a %s %q %v", key, its.kind, its.text, its.of)
	}
}

// compareHold wants a key to have what an owner has of it.
func (r *run) compareHold(key string, its record, w who, h hold) {
	if h.mode == write {
		if its.kind != "string" || r.reads(its.text) != w {
			r.wrong("key %q is a %s %q, want that of %+v", key, its.kind, its.text, w)
		}
		return
	}
	if its.kind != "zset" {
		r.wrong("key %q is a %s, want readers", key, its.kind)
	}
	for member, score := range its.of {
		if r.reads(member) != w {
			continue
		}
		if end := r.moment(score); !h.end.has(end) {
			r.wrong("%+v reads %q until %v, want %s", w, key, end.UTC(), h.end)
		}
		return
	}
	r.wrong("%+v does not read %q", w, key)
}

// compareReaders wants a key to have no other readers than those that it has, and had until their leases were over.
func (r *run) compareReaders(key string, its record, now time.Time) {
	for member, score := range its.of {
		w, end := r.reads(member), r.moment(score)
		if _, ok := r.model.holds[key][w]; ok {
			continue
		}
		if before, ok := r.model.ended[key][w]; !ok || end.After(now) || !before.has(end) {
			r.wrong("%+v reads %q until %v, and has not locked it", w, key, end.UTC())
		}
	}
}

// compareFence wants the numbers beside a key to be those of who holds it, and takes them out of what is to be looked at.
func (r *run) compareFence(key string, all map[string]record, now time.Time) {
	name := slot.Beside("fence", key)
	fence, ok := all[name]
	delete(all, name)
	greatest := r.model.fences[key]
	if !ok && greatest == 0 {
		return
	}
	if got := fence.of[""]; fence.kind != "hash" || got != fmt.Sprint(greatest) {
		r.wrong("the greatest number of %q is %q in a %q, want %d", key, got, fence.kind, greatest)
	}
	if fence.end.Before(now.Add(23*time.Hour)) || fence.end.After(now.Add(25*time.Hour).Add(slack)) && fence.end.After(now.Add(2*r.longest)) {
		r.wrong("the numbers of %q end at %v", key, fence.end.UTC())
	}
	for w, h := range r.model.holds[key] {
		token := r.tokens[w.owner]
		switch {
		case h.number == 0:
		case h.mode == read && fence.of[token] != fmt.Sprint(h.number), h.mode == write && fence.of["|"] != fmt.Sprintf("%d|%s", h.number, token):
			r.wrong("the numbers of %q are %v, want %d of %+v", key, fence.of, h.number, w)
		}
	}
}

// reads tells from a value who it is of.
func (r *run) reads(value string) who {
	token, metadata, _ := strings.Cut(value, "|")
	if token == "" {
		return who{metadata: metadata}
	}
	owner, ok := r.owners[token]
	if !ok {
		if !r.own[metadata] || r.tokens[metadata] != "" {
			r.wrong("nobody has the token of %q", value)
		}
		owner = metadata
		r.owners[token], r.tokens[owner] = owner, token
	}
	return who{owner, metadata}
}

func (r *run) moment(score string) time.Time {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil {
		r.wrong("%q is no moment", score)
	}
	return time.UnixMilli(int64(ms))
}

// inspect wants Inspect to say of a key what the model says. Each step asks for another key, of many for one of some.
func (r *run) inspect() {
	before := r.now()
	r.steps++
	states, err := r.client.Inspect(r.t.Context(), r.some[r.steps%len(r.some):][:1])
	if err != nil {
		r.wrong("inspect: %v", err)
	}
	now := span{before, r.now()}
	for _, s := range states {
		held, want := r.model.holds[s.Key], redislock.ModeFree
		for _, h := range held {
			want = redislock.Mode(h.mode)
		}
		if s.Mode != want || s.Intent != nil || len(s.Line) > 0 || s.Fence != r.model.fences[s.Key] || len(s.Holders) != len(held) {
			r.wrong("Inspect says %s, with the number %d", s, s.Fence)
		}
		for w, h := range held {
			r.wantHolder(s.Holders, w, h, now)
		}
		ends := func(a, b redislock.Holder) int { return int(a.TTL - b.TTL) }
		if end := r.model.end(s.Key); len(held) > 0 && !remains(end, now, s.TTL) || !slices.IsSortedFunc(s.Holders, ends) {
			r.wrong("Inspect says %s, and that the key ends in %v", s, s.TTL)
		}
	}
}

// remains reports whether a ttl that was read at some moment is that of a lease.
func remains(end, at span, ttl time.Duration) bool {
	return !at.to.Add(ttl+slack).Before(end.from) && !at.from.Add(ttl-slack).After(end.to)
}

// wantHolder wants one of those that were named to be the owner of a hold.
func (r *run) wantHolder(named []redislock.Holder, w who, h hold, now span) {
	for _, n := range named {
		if n.Metadata == w.metadata && n.Left == (w.owner == "") && remains(h.end, now, n.TTL) {
			return
		}
	}
	r.wrong("%v are named, want %+v until %s among them", named, w, h.end)
}
