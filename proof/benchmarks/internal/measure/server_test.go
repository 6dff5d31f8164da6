package measure

import (
	"testing"
	"time"
)

const info = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:2.250000\r\nused_cpu_sys_main_thread:0.500000\r\n" +
	"used_cpu_user_main_thread:1.250000\r\n\r\n# Stats\r\ntotal_net_input_bytes:300\r\ntotal_net_output_bytes:40\r\n" +
	"\r\n# Commandstats\r\ncmdstat_set:calls=3,usec=9,usec_per_call=3.00\r\ncmdstat_evalsha:calls=5,usec=1\r\n" +
	"cmdstat_get:calls=4,usec=2\r\ncmdstat_info:calls=70,usec=1\r\ncmdstat_client|setinfo:calls=8,usec=1\r\ncmdstat_eval:calls=1,usec=1\r\n"

func TestCounters(t *testing.T) {
	t.Parallel()
	got, err := readCounters(fields(info))
	if err != nil {
		t.Fatal(err)
	}
	want := counters{mainThread: 1750 * time.Millisecond, process: 3750 * time.Millisecond, commands: 7, calls: 6, bytes: 340}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := readCounters(fields("used_cpu_user:1\r\n")); err == nil {
		t.Error("a server that does not tell the time of its main thread: got no error")
	}
}
