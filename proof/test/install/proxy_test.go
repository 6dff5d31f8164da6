package install_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A proxy is where users get modules: those of this repo from a folder, those of others from the module cache of this
// machine, and none from anywhere else. Its users share a module cache of their own.
type proxy struct {
	dir string   // of the modules of this repo
	env []string // of its users
}

// startProxy offers versions for the time of the test.
func startProxy(t *testing.T, offered []version) (p proxy, err error) {
	t.Helper()
	p.dir = t.TempDir()
	for _, v := range offered {
		if err := v.publish(p.dir); err != nil {
			return p, fmt.Errorf("publish %s@%s: %w", v.module, v.name, err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		return p, fmt.Errorf("go env: %w", err)
	}
	var machine struct{ GOCACHE, GOMODCACHE, GOROOT string }
	if err := json.Unmarshal(out, &machine); err != nil {
		return p, fmt.Errorf("go env: %w", err)
	}
	// GOPRIVATE would lead past the proxy. It may stand in the file that GOENV names.
	p.env = append(os.Environ(),
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GO111MODULE=on", "GOEXPERIMENT=",
		"GOFLAGS=-trimpath -modcacherw -buildvcs=false -ldflags=-w -p=1",
		"GOCACHE="+machine.GOCACHE, "GOMODCACHE="+t.TempDir(),
		"GOPROXY="+fileURL(p.dir)+","+fileURL(filepath.Join(machine.GOMODCACHE, "cache", "download"))+",off",
		"GOPRIVATE=", "GONOPROXY=none", "GONOSUMDB=", "GOSUMDB=off", "GOVCS=*:off",
	)
	return p, nil
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// publish writes a version into the folder of a proxy, in the layout of the GOPROXY protocol.
func (v version) publish(to string) error {
	zipped, err := v.zip()
	if err != nil {
		return err
	}
	dir := filepath.Join(to, filepath.FromSlash(v.module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{v.name, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		v.name + ".info": info,
		v.name + ".mod":  v.files[path.Join(v.dir, "go.mod")],
		v.name + ".zip":  zipped,
		"list":           append(list, v.name+"\n"...),
		"../@latest":     info,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// zip packs the files of the module. Names that a zip must not have, and what is too large for it, are found by the go
// command that unpacks it.
func (v version) zip() ([]byte, error) {
	var packed bytes.Buffer
	out := zip.NewWriter(&packed)
	files := v.content()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := out.Create(v.module + "@" + v.name + "/" + name)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return packed.Bytes(), err
}

// content returns the files of the module by their paths in it: neither those of modules below it nor vendored packages.
// A module that has no licence gets that of the repo.
func (v version) content() tree {
	content := tree{}
	for name, data := range v.files {
		if inner, ok := strings.CutPrefix(name, strings.TrimPrefix(v.dir+"/", "./")); ok && !v.below(inner) && !vendored(inner) {
			content[inner] = data
		}
	}
	if licence, ok := v.files["LICENSE"]; ok && content["LICENSE"] == nil {
		content["LICENSE"] = licence
	}
	return content
}

// below reports whether a file belongs to a module below this one.
func (v version) below(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if v.files[path.Join(v.dir, dir, "go.mod")] != nil {
			return true
		}
	}
	return false
}

// vendored reports whether a file belongs to a package in a folder that is called vendor.
func vendored(name string) bool {
	_, inner, found := strings.Cut("/"+name, "/vendor/")
	return found && strings.Contains(inner, "/") || name == "vendor/modules.txt"
}
