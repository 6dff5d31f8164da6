package install_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// What each user of the library downloads, at most: files, and bytes of the zip.
const (
	mostFiles = 400
	mostBytes = 812_000
)

// The root is small to download.
func TestDownload(t *testing.T) {
	t.Parallel()
	c := check.Must[checkout](t)(openCheckout(t.Context(), filepath.Join("..", "..", "..")))
	if heavy := check.Must[string](t)(c.newest(c.modules[0]).heavy()); heavy != "" {
		t.Error(heavy)
	}
	var sizes []string
	for _, m := range c.modules {
		packed := check.Must[[]byte](t)(c.newest(m).zip())
		in := check.Must[*zip.Reader](t)(zip.NewReader(bytes.NewReader(packed), int64(len(packed))))
		if len(in.File) > 0 { // proof offers nothing
			sizes = append(sizes, fmt.Sprintf("%s %d files, %d bytes", m.dir, len(in.File), len(packed)))
		}
	}
	t.Log("downloads: " + strings.Join(sizes, "; ")) // a figure of proof/release
}

// heavy says how much more a version is to download than it may be, and which folders that is; it is empty if it is not.
func (v version) heavy() (string, error) {
	packed, err := v.zip()
	if err != nil {
		return "", err
	}
	in, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(in.File) <= mostFiles && len(packed) <= mostBytes {
		return "", err
	}
	type weight struct {
		files int
		bytes uint64
	}
	folders := map[string]weight{}
	for _, file := range in.File {
		dir := path.Dir(strings.TrimPrefix(file.Name, v.module+"@"+v.name+"/"))
		if parts := strings.Split(dir, "/"); len(parts) > 2 {
			dir = path.Join(parts[:2]...)
		}
		w := folders[dir]
		folders[dir] = weight{w.files + 1, w.bytes + file.CompressedSize64}
	}
	heaviest := slices.SortedFunc(maps.Keys(folders), func(a, b string) int {
		return cmp.Or(cmp.Compare(folders[b].bytes, folders[a].bytes), cmp.Compare(a, b))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d files, want at most %d; %d bytes, want at most %d; the heaviest folders:",
		v.module, len(in.File), mostFiles, len(packed), mostBytes)
	for _, dir := range heaviest[:min(12, len(heaviest))] {
		fmt.Fprintf(&b, "\n%8d bytes %5d files %s", folders[dir].bytes, folders[dir].files, dir)
	}
	return b.String(), nil
}

// Both limits count, and what is packed is counted as it is packed.
func TestDownloadNotices(t *testing.T) {
	t.Parallel()
	noise := make([]byte, mostBytes)
	random := rand.NewChaCha8([32]byte{})
	check.Must[int](t)(random.Read(noise))
	many := func(n int) tree {
		files := tree{}
		for i := range n {
			files[fmt.Sprintf("folder/inner/deep/%d.go", i)] = nil
		}
		return files
	}
	for name, tt := range map[string]struct {
		files tree
		want  string
	}{
		"as many files as it may":         {many(mostFiles), ""},
		"one file more":                   {many(mostFiles + 1), "401 files, want at most 400;"},
		"much that is packed well":        {tree{"a.txt": make([]byte, 10*mostBytes)}, ""},
		"a little that cannot be packed":  {tree{"a.txt": noise[:mostBytes/2]}, ""},
		"too much that cannot be packed":  {tree{"a.txt": noise}, "bytes, want at most 812000;"},
		"what belongs to a module below":  {tree{"below/go.mod": []byte("module below"), "below/a.txt": noise}, ""},
		"the heaviest folders are called": {many(mostFiles + 1), "  401 files folder/inner"},
	} {
		v := version{"example.com/lock", ".", "v0.1.0", tt.files}
		got := check.Must[string](t)(v.heavy())
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, tt.want)
		}
	}
}
