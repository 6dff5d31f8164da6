package redistest

import (
	"reflect"

	"github.com/redis/go-redis/v9"
)

// The root is tested with the oldest go-redis that it requires and with the newest. So what only a newer one has is
// looked for when a test runs; with an older one there is nothing to set.

// setPipelinePool says how many connections a client has for pipelines. From v9.23.0 on it keeps them apart.
func setPipelinePool(opt *redis.Options, size int64) {
	if field := reflect.ValueOf(opt).Elem().FieldByName("PipelinePoolSize"); field.IsValid() {
		field.SetInt(size)
	}
}

// ignoreMaintenance has a client not ask for news of maintenance. From v9.16.0 on it does that.
func ignoreMaintenance(opt *redis.Options) {
	field := reflect.ValueOf(opt).Elem().FieldByName("MaintNotificationsConfig")
	if !field.IsValid() {
		return
	}
	field.Set(reflect.New(field.Type().Elem()))
	field.Elem().FieldByName("Mode").SetString("disabled")
}
