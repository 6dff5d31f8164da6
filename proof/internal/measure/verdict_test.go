package measure

import (
	"math"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	quiet := Load{Known: true, Others: .01}
	most3, least1 := Limit{Value: 3}, Limit{Value: 1, AtLeast: true}
	for name, test := range map[string]struct {
		value Spread
		limit Limit
		basis Basis
		load  Load
		want  string
	}{
		"below":                       {Spread{2, 1.9, 2.1}, most3, OnCPU, quiet, "holds"},
		"at the limit":                {Spread{3, 2.9, 3.004}, most3, OnCPU, quiet, "holds"},
		"beyond":                      {Spread{4, 3.5, 4.1}, most3, OnCPU, quiet, "does not hold"},
		"within the spread":           {Spread{2.9, 2.8, 3.1}, most3, OnCPU, quiet, "no conclusion: the limit is within the spread"},
		"enough":                      {Spread{1.1, 1, 1.2}, least1, OnWall, quiet, "holds"},
		"not enough":                  {Spread{.9, .8, .95}, least1, OnWall, quiet, "does not hold"},
		"perhaps enough":              {Spread{1, .9, 1.1}, least1, OnWall, quiet, "no conclusion: the limit is within the spread"},
		"too wide":                    {Spread{1, .5, 1.5}, most3, OnCPU, quiet, "no conclusion: the spread is too wide"},
		"counts may be wide":          {Spread{1, .5, 1.5}, most3, OnCounts, quiet, "holds"},
		"counts at any load":          {Exactly(2), most3, OnCounts, Load{Known: true, Others: .99, Steal: .5}, "holds"},
		"CPU at half a load":          {Exactly(2), most3, OnCPU, Load{Known: true, Others: .4}, "holds"},
		"CPU while busy":              {Exactly(2), most3, OnCPU, Load{Known: true, Others: .6}, "no conclusion: the machine was busy (others 60 %)"},
		"a clock at half a load":      {Exactly(2), most3, OnWall, Load{Known: true, Others: .4}, "no conclusion: the machine was busy"},
		"stolen":                      {Exactly(2), most3, OnCPU, Load{Known: true, Steal: .2}, "no conclusion: the machine had to wait for its host (others 0 %, stolen 20 %)"},
		"slow":                        {Exactly(2), most3, OnCPU, Load{Known: true, Slow: 1.8}, "no conclusion: the processors were slow (others 0 %, processors slower by 1.8 ×)"},
		"a bit slow":                  {Exactly(2), most3, OnWall, Load{Known: true, Slow: 1.2}, "holds"},
		"a load that nobody knows":    {Exactly(2), most3, OnCPU, Load{}, "holds"},
		"not measured":                {Exactly(math.NaN()), most3, OnCounts, quiet, "no conclusion: it was not measured"},
		"zero":                        {Exactly(0), Limit{}, OnCounts, quiet, "holds"},
		"a stray command among turns": {Exactly(3.04), most3, OnCounts, quiet, "holds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unit := Times
			if test.basis == OnCounts {
				unit = Count
			}
			if got := Judge(test.value, test.limit, unit, test.basis, test.load).String(); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
