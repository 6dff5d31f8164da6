package page

import (
	"path/filepath"
	"testing"
)

// Each model that the page names has a folder.
func TestNamedModelsExist(t *testing.T) {
	t.Parallel()
	const folder = "proof/models"
	named := 0
	for _, p := range Read(read(t, pagePath)).Promises {
		named += len(p.Models)
		for _, name := range p.Models {
			if files, err := filepath.Glob(filepath.Join(root, folder, name, "*.go")); err != nil || len(files) == 0 {
				t.Errorf("%s has no model %q", folder, name)
			}
		}
	}
	if named == 0 {
		t.Error("the page names no model")
	}
}
