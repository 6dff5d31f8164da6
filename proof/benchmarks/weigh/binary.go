package main

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const module = "github.com/seed-14de3678/redislock"

// A binary is what the linker has put into a program, in bytes.
type binary struct {
	size   int // of the sections; a file has gaps between them, of up to 64 KiB
	tables int // say where in the source code is: each function has its share
	code   map[function]int
}

// A function is one that is linked, by its package and the file where it stands; that is empty if the compiler has
// written it.
type function struct{ name, pkg, file string }

// build builds one of the programs below the folder programs, for Linux on amd64.
func build(dir, program, flags string) (*binary, error) {
	out := filepath.Join(dir, program)
	cmd := exec.Command("go", "build", "-ldflags", flags, "-o", out, module+"/proof/benchmarks/weigh/programs/"+program)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", program, err, text)
	}
	return read(out)
}

func read(file string) (*binary, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b := &binary{code: make(map[function]int)}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS {
			b.size += int(s.FileSize)
		}
	}
	lines := f.Section(".gopclntab")
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	b.tables = int(lines.Size)
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, f.Section(".text").Addr))
	if err != nil {
		return nil, err
	}
	for i := range table.Funcs {
		f := &table.Funcs[i]
		file, _, _ := table.PCToLine(f.Entry)
		b.code[function{f.Name, packageOf(f.Name), path.Base(file)}] += int(f.End - f.Entry)
	}
	return b, nil
}

// packageOf cuts the package out of the name of a function, as example.com/a/b.(*T).Method has it.
func packageOf(name string) string {
	name, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(name, "type:.eq."), "type:.hash."), "[")
	slash := strings.LastIndex(name, "/") + 1
	if first := strings.Index(name, module); first >= 0 { // a method that is promoted from another package
		slash = strings.LastIndex(module, "/") + 1
		if strings.HasPrefix(name, module+"/internal/") {
			slash = len(module + "/internal/")
		}
	}
	pkg, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + pkg
}

// luaSize is how many bytes of Lua the library has.
func luaSize() (size int, err error) {
	names, err := exec.Command("go", "list", "-f", `{{range .EmbedFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, module).Output()
	if err != nil {
		return 0, err
	}
	for name := range strings.Lines(string(names)) {
		info, err := os.Stat(strings.TrimSpace(name))
		if err != nil {
			return 0, err
		}
		size += int(info.Size())
	}
	return size, nil
}
