package main

import (
	"errors"
	"testing"
)

// What go test says of the test that is named is what counts, and nothing that it says beside.
func TestJudge(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 1")
	type states = map[string]string
	for name, c := range map[string]struct {
		run  goTest
		want verdict
	}{
		"fails":                          {goTest{states: states{"TestA": "fail"}, err: failed}, caught},
		"passes":                         {goTest{states: states{"TestA": "pass"}}, survived},
		"passes, another fails":          {goTest{states: states{"TestA": "pass", "TestAB": "fail"}, err: failed}, survived},
		"not there":                      {goTest{states: states{}}, notRun},
		"not there, another fails":       {goTest{states: states{"TestAB": "fail"}, err: failed}, notRun},
		"skipped":                        {goTest{states: states{"TestA": "skip"}}, skippedTest},
		"all below it skipped":           {goTest{states: states{"TestA": "pass", "TestA/a": "skip", "TestA/b": "skip"}}, skippedTest},
		"some below it skipped":          {goTest{states: states{"TestA": "pass", "TestA/a": "skip", "TestA/b": "pass"}}, survived},
		"another one skipped":            {goTest{states: states{"TestA": "pass", "TestAB": "skip"}}, survived},
		"cut short by a panic":           {goTest{states: states{"TestA": "run"}, err: failed}, caught},
		"cut short by its time":          {goTest{states: states{"TestA": "run"}, over: true, running: []string{"TestA"}, err: failed}, caught},
		"a subtest cut short":            {goTest{states: states{"TestA": "pause"}, over: true, running: []string{"TestA/a"}, err: failed}, caught},
		"waits while another one hangs":  {goTest{states: states{"TestA": "pause"}, over: true, running: []string{"TestAB"}, err: failed}, doesNotEnd},
		"has to be killed":               {goTest{states: states{"TestA": "run"}, stuck: true, err: failed}, doesNotEnd},
		"passes, and has to be killed":   {goTest{states: states{"TestA": "pass"}, stuck: true, err: failed}, survived},
		"killed before it was begun":     {goTest{states: states{}, stuck: true, err: failed}, doesNotEnd},
		"does not compile":               {goTest{states: states{}, broken: true, err: failed}, doesNotCompile},
		"the go command does not start":  {goTest{states: states{}, err: failed}, notRun},
		"fails before the rest hangs":    {goTest{states: states{"TestA": "fail"}, over: true, running: []string{"TestAB"}, err: failed}, caught},
		"its subtest fails, it is asked": {goTest{states: states{"TestA": "fail", "TestA/a": "fail"}, err: failed}, caught},
	} {
		if got := c.run.judge(defect{test: "TestA"}).verdict; got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What go test writes is read also where it comes in pieces.
func TestWrite(t *testing.T) {
	t.Parallel()
	r := goTest{states: map[string]string{}, reasons: map[string]string{}, onStarted: func() {}}
	text := `{"Action":"start","Package":"p"}
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"    a_test.go:7: no server\n"}
{"Action":"output","Test":"TestA","Output":"panic: test timed out after 1s\n"}
{"Action":"output","Test":"TestA","Output":"\trunning tests:\n"}
{"Action":"output","Test":"TestA","Output":"\t\tTestA (1s)\n"}
{"Action":"output","Test":"TestA","Output":"\t\tTestA/b_c (1m0s)\n"}
{"Action":"output","Test":"TestA","Output":"\n"}
{"Action":"output","Test":"TestA","Output":"\tmain.f (0x1)\n"}
{"Action":"fail","Package":"p"}
not json
`
	for i := range len(text) {
		if _, err := r.Write([]byte(text[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if r.states["TestA"] != "run" || r.reasons["TestA"] != "no server" || !r.over || len(r.running) != 2 ||
		r.running[1] != "TestA/b_c" || r.output[len(r.output)-1] != "not json" {
		t.Errorf("got %+v", &r)
	}
}
