package measure

import (
	"testing"
	"time"
)

var info = map[string]string{
	"used_cpu_sys": "1.500000", "used_cpu_user": "2.250000", "used_cpu_sys_main_thread": "0.500000", "used_cpu_user_main_thread": "1.250000",
	"total_net_input_bytes": "300", "total_net_output_bytes": "40",
	"cmdstat_set": "calls=3,usec=9,usec_per_call=3.00", "cmdstat_evalsha": "calls=5,usec=1", "cmdstat_get": "calls=4,usec=2",
	"cmdstat_info": "calls=70,usec=1", "cmdstat_client|setinfo": "calls=8,usec=1", "cmdstat_eval": "calls=1,usec=1",
}

func TestCounters(t *testing.T) {
	t.Parallel()
	got, err := readCounters(info)
	if err != nil {
		t.Fatal(err)
	}
	want := counters{mainThread: 1750 * time.Millisecond, process: 3750 * time.Millisecond, commands: 7, calls: 6, bytes: 340}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := readCounters(map[string]string{"used_cpu_user": "1"}); err == nil {
		t.Error("a server that does not tell the time of its main thread: got no error")
	}
}
