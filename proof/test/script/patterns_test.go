package script_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// A luaPattern finds out how many steps Lua takes to match a text: it tries what Lua tries, in the same order. It knows what
// the patterns of the scripts are made of: characters, classes, sets, captures, *, +, -, ?, and ^ in front.
type luaPattern struct {
	t     *testing.T
	text  string
	steps int
}

// item returns the end of the single character class at the beginning of a pattern.
func (p *luaPattern) item(pattern string) int {
	switch pattern[0] {
	case '%':
		if strings.ContainsRune("bf", rune(pattern[1])) || pattern[1] >= '0' && pattern[1] <= '9' {
			p.t.Fatalf("%q: it is not known what this costs", pattern)
		}
		return 2
	case '[':
		return 2 + strings.IndexByte(pattern[2:], ']') + 1
	}
	return 1
}

// fits reports whether a character is of a class.
func (p *luaPattern) fits(c byte, class string) bool {
	p.steps++
	switch {
	case class == ".":
		return true
	case class[0] == '%':
		letter, digit := c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9'
		switch class[1] {
		case 'd':
			return digit
		case 'w':
			return letter || digit
		}
		return c == class[1]
	case class[0] == '[':
		set, negated := strings.CutPrefix(class[1:len(class)-1], "^")
		for set != "" {
			end := p.item(set)
			if len(set) > 2 && set[1] == '-' {
				if set[0] <= c && c <= set[2] {
					return !negated
				}
				end = 3
			} else if p.fits(c, set[:end]) {
				return !negated
			}
			set = set[end:]
		}
		return negated
	}
	return c == class[0]
}

// matches reports whether the text from at on begins with what the pattern says.
func (p *luaPattern) matches(at int, pattern string) bool {
	p.steps++
	for pattern != "" && strings.ContainsRune("()", rune(pattern[0])) {
		pattern = pattern[1:]
	}
	if pattern == "" {
		return true
	}
	end := p.item(pattern)
	class, rest, how := pattern[:end], pattern[end:], byte(0)
	if rest != "" && strings.ContainsRune("*+-?", rune(rest[0])) {
		how, rest = rest[0], rest[1:]
	}
	here := func(i int) bool { return i < len(p.text) && p.fits(p.text[i], class) }
	switch how {
	case '?':
		return here(at) && p.matches(at+1, rest) || p.matches(at, rest)
	case '-':
		for ; !p.matches(at, rest); at++ {
			if !here(at) {
				return false
			}
		}
		return true
	case '*', '+':
		n := 0
		for here(at + n) {
			n++
		}
		for least := strings.IndexByte("*+", how); n >= least; n-- {
			if p.matches(at+n, rest) {
				return true
			}
		}
		return false
	}
	return here(at) && p.matches(at+1, rest)
}

// stepsOf is how many steps a match of the text takes, wherever in it.
func stepsOf(t *testing.T, pattern, text string) int {
	t.Helper()
	p := &luaPattern{t: t, text: text}
	anchored, is := strings.CutPrefix(pattern, "^")
	for at := range len(text) + 1 {
		if p.matches(at, anchored) || is {
			break
		}
	}
	return p.steps
}

// hostile are texts that fit more and more of a pattern, and then do not: with a long run of each of its classes.
func hostile(t *testing.T, pattern string, run int) (texts []string) {
	t.Helper()
	p := &luaPattern{t: t}
	var fits strings.Builder // what the part before fits
	for rest := strings.TrimPrefix(pattern, "^"); rest != ""; {
		if strings.ContainsRune("()", rune(rest[0])) {
			rest = rest[1:]
			continue
		}
		end := p.item(rest)
		class := rest[:end]
		rest = rest[end:]
		for _, c := range []byte("1aw|ps-fhrk:x_\n\xff") {
			if p.fits(c, class) {
				texts = append(texts, fits.String()+strings.Repeat(string(rune(c)), run), fits.String()+strings.Repeat(string(c), run)+"\n")
				fits.WriteByte(c)
				break
			}
		}
		if rest != "" && strings.ContainsRune("*+-?", rune(rest[0])) {
			rest = rest[1:]
		}
	}
	all := fits.String()
	return append(texts, all, strings.Repeat(all, run/max(1, len(all))), strings.Repeat("1|", run/2), strings.Repeat("|", run))
}

// The patterns of the scripts, by how they stand there. Strangers write into lines and keys, so a pattern that is tried on
// what stands there must not go through it again and again.
func patterns(t *testing.T) map[string]string {
	t.Helper()
	use := regexp.MustCompile(`string\.(?:match|find|gmatch|gsub)\((?:[^'\n]|'[^'\n]*')*?, ('[^'\n]+'|[A-Z_]+)`)
	found, uses := make(map[string]string), 0
	for _, script := range proto.Scripts() {
		source := script.Source()
		uses += len(regexp.MustCompile(`string\.(match|find|gmatch|gsub)\(`).FindAllString(source, -1))
		for _, m := range use.FindAllStringSubmatch(source, -1) {
			uses--
			name, value := m[1], m[1]
			if name[0] != '\'' {
				local := regexp.MustCompile(`(?m)^local ` + name + ` = ('[^'\n]+')$`).FindStringSubmatch(source)
				if local == nil {
					t.Fatalf("%s does not say what %s is", script.Name(), name)
				}
				value = local[1]
			}
			found[name] = strings.Trim(value, "'")
		}
	}
	// Where a text is searched for another text, that is a variable there.
	if len(found) < 8 || uses > 0 {
		t.Fatalf("found %d patterns, and no pattern in %d places", len(found), uses)
	}
	return found
}

// ofTheCaller are patterns that are tried only on what a caller says of itself, in its own stamp.
var ofTheCaller = map[string]bool{`([^|]+)|(%d+)|(%d+)|`: true}

// No pattern takes more steps than the text has characters, times a small number, whoever wrote the text. A pattern such as
// %d?%d?%d? tries every way to divide digits among its parts.
func TestPatternsAreLinear(t *testing.T) {
	t.Parallel()
	const most = 8 // steps for each character
	for name, pattern := range patterns(t) {
		if ofTheCaller[pattern] {
			continue
		}
		for _, run := range []int{20, 200, 2000} {
			for _, text := range hostile(t, pattern, run) {
				if n := stepsOf(t, pattern, text); n > most*(len(text)+len(pattern)) {
					t.Errorf("%s takes %d steps for the %d characters %.60q…", name, n, len(text), text)
				}
			}
		}
	}
}

// The judge of patterns finds those that are not linear.
func TestPatternsJudge(t *testing.T) {
	t.Parallel()
	const run = 200
	for pattern, linear := range map[string]bool{
		"^(%d+)|x": true, "^[^|]*|": true, "^%d*%d*x": false, "^.-x.-y": false, "%d+x": false,
		"^(%d" + strings.Repeat("%d?", 14) + ")|x": false, "abc": true, "^[a-z]+[%w_-]|": true,
	} {
		most := 0
		for _, text := range hostile(t, pattern, run) {
			most = max(most, stepsOf(t, pattern, text)/(len(text)+len(pattern)))
		}
		if got := most < 8; got != linear {
			t.Errorf("%q takes %d steps a character: got linear = %v", pattern, most, got)
		}
	}
}
