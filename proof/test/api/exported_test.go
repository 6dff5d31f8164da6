package api_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// The exported API of each package is that of its snapshot. UPDATE_API=1 writes the snapshots anew.
func TestAPI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"redislock", "held", "multi", "quorum", "reentrant", "fencing", "election", "locktest", "redislockotel", "redislockgocron"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "..", name)
			if name == "redislock" {
				dir = filepath.Join("..", "..", "..")
			}
			got := exportedAPI(t, sourcesOf(t, dir))
			snapshot := filepath.Join("testdata", name+".txt")
			if os.Getenv("UPDATE_API") != "" {
				if err := os.WriteFile(snapshot, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := string(check.Must[[]byte](t)(os.ReadFile(snapshot)))
			if diff := diffAPI(want, got); diff != "" {
				t.Errorf("The exported API of %s has changed:\n\n%s\nA change of it is a decision. If it is meant, "+
					"CHANGELOG.md needs a line that shows before and after, and\n\n"+
					"    UPDATE_API=1 go test -run '^TestAPI$' ./proof/test/api\n\nwrites the snapshot in proof/test/api/testdata anew.", name, diff)
			}
		})
	}
}

// The snapshot sees what concerns a caller, and nothing else.
func TestAPISees(t *testing.T) {
	t.Parallel()
	const before = `package p

// A Lock is a hold.
type Lock struct {
	Key, Name string
	TTL       time.Duration

	mu sync.Mutex
}

type Waiter interface{ Wait() error }

type Mode string

const (
	Free  Mode = "free"
	First = iota
	Second
)

var ErrLost = errors.New("lost")

func New(ctx context.Context) *Lock { return nil }

func (l *Lock) Release() error { return nil }

func (l *Lock) free() {}
`
	for _, c := range []struct{ name, old, replacement, want string }{
		{"a function more", "func (l *Lock) free()", "func Free2()", "+ func Free2()\n"},
		{"a function less", "func New(", "func anew(", "- func New(ctx context.Context) *Lock\n"},
		{"a parameter", "New(ctx context.Context)", "New()", "- func New(ctx context.Context) *Lock\n+ func New() *Lock\n"},
		{"a result", "Release() error", "Release() (bool, error)", "- func (l *Lock) Release() error\n+ func (l *Lock) Release() (bool, error)\n"},
		{"a receiver", "(l *Lock) Release", "(l Lock) Release", "- func (l *Lock) Release() error\n+ func (l Lock) Release() error\n"},
		{"a method less", "Release() error", "release() error", "- func (l *Lock) Release() error\n"},
		{"a method more", "free()", "Free()", "+ func (l *Lock) Free()\n"},
		{"a type parameter", "func New(", "func New[T any](", "- func New(ctx context.Context) *Lock\n+ func New[T any](ctx context.Context) *Lock\n"},
		{"a field more", "mu sync.Mutex", "Mu sync.Mutex", "- type Lock struct, unexported fields\n+ type Lock struct, field Mu sync.Mutex\n"},
		{"a field less", "Key, Name string", "Key string", "- type Lock struct, field Name string\n"},
		{"the type of a field", "TTL       time.Duration", "TTL int64", "- type Lock struct, field TTL time.Duration\n+ type Lock struct, field TTL int64\n"},
		{"an embedded field", "mu sync.Mutex", "mu sync.Mutex; *Client", "+ type Lock struct, embedded *Client\n"},
		{"the last unexported field", "mu sync.Mutex", "", "- type Lock struct, unexported fields\n"},
		{"a method of an interface", "Wait() error", "Wait()", "- type Waiter interface, Wait() error\n+ type Waiter interface, Wait()\n"},
		{"a kind of type", "type Mode string", "type Mode int", "- type Mode string\n+ type Mode int\n"},
		{"an alias", "type Mode string", "type Mode = string", "- type Mode string\n+ type Mode = string\n"},
		{"a constant", `Mode = "free"`, `Mode = "none"`, "- const Free Mode = \"free\"\n+ const Free Mode = \"none\"\n"},
		{"the place of a constant", "First = iota", "other = iota\n\tFirst", "- const First = iota (1)\n- const Second = iota (2)\n+ const First = iota (2)\n+ const Second = iota (3)\n"},
		{"a type less", "type Mode string\n", "", "- type Mode string\n"},
		{"a variable less", "ErrLost", "errLost", "- var ErrLost error\n"},

		{"a comment", "is a hold", "is held", ""},
		{"a body", "{ return nil }", "{\n\tpanic(0)\n}", ""},
		{"an unexported field", "mu sync.Mutex", "state int", ""},
		{"an unexported function", "free()", "liberate(now bool)", ""},
		{"the text of an error", `errors.New("lost")`, `fmt.Errorf("lost: %w", io.EOF)`, ""},
		{"an error from elsewhere", `errors.New("lost")`, "wire.ErrLost", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			after := strings.Replace(before, c.old, c.replacement, 1)
			if after == before {
				t.Fatalf("%q is not there", c.old)
			}
			got := diffAPI(exportedAPI(t, []string{before}), exportedAPI(t, []string{after}))
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		head, tail, _ := strings.Cut(before, "var ErrLost")
		parts := []string{"package p\n\nvar ErrLost" + tail, head}
		if diff := diffAPI(exportedAPI(t, []string{before}), exportedAPI(t, parts)); diff != "" {
			t.Errorf("the same in two files, the other way round:\n%s", diff)
		}
	})
}

// sourcesOf are the source files of a folder.
func sourcesOf(t *testing.T, dir string) (sources []string) {
	t.Helper()
	for _, name := range check.Must[[]string](t)(filepath.Glob(filepath.Join(dir, "*.go"))) {
		if !strings.HasSuffix(name, "_test.go") {
			sources = append(sources, string(check.Must[[]byte](t)(os.ReadFile(name))))
		}
	}
	if len(sources) == 0 {
		t.Fatalf("no source in %s", dir)
	}
	return sources
}

// exportedAPI has a line for each thing that a caller of a package can name: without comments, bodies and what is
// not exported, sorted.
func exportedAPI(t *testing.T, sources []string) string {
	t.Helper()
	var lines []string
	for _, source := range sources {
		file := check.Must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution))
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				lines = append(lines, functionLines(t, d)...)
			case *ast.GenDecl:
				lines = append(lines, declarationLines(t, d)...)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func functionLines(t *testing.T, d *ast.FuncDecl) []string {
	t.Helper()
	if !d.Name.IsExported() {
		return nil
	}
	if d.Recv != nil && !ast.IsExported(strings.TrimLeft(onOneLine(t, d.Recv.List[0].Type), "*")) {
		return nil
	}
	return []string{onOneLine(t, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})}
}

func declarationLines(t *testing.T, d *ast.GenDecl) (lines []string) {
	t.Helper()
	var last *ast.ValueSpec // whose type and value a constant without any has
	for i, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				lines = append(lines, typeLines(t, s)...)
			}
		case *ast.ValueSpec:
			from := s
			if d.Tok == token.CONST {
				if s.Type == nil && s.Values == nil {
					from = last
				}
				last = from
			}
			for j, name := range s.Names {
				if name.IsExported() {
					lines = append(lines, d.Tok.String()+" "+name.Name+valueOf(t, from, i, j))
				}
			}
		}
	}
	return lines
}

// typeLines has a line for each part of a struct or an interface, so that a change of one is a line.
func typeLines(t *testing.T, s *ast.TypeSpec) (lines []string) {
	t.Helper()
	name := "type " + strings.TrimPrefix(onOneLine(t, &ast.TypeSpec{Name: s.Name, TypeParams: s.TypeParams, Type: ast.NewIdent("_")}), "type ")
	name = strings.TrimSuffix(name, " _")
	if s.Assign.IsValid() {
		name += " ="
	}
	switch of := s.Type.(type) {
	case *ast.StructType:
		lines = []string{name + " struct"}
		hidden := false
		for _, field := range of.Fields.List {
			kind := onOneLine(t, field.Type)
			if field.Tag != nil {
				kind += " " + field.Tag.Value
			}
			if field.Names == nil {
				if base := kind[strings.LastIndexAny(kind, "*.")+1:]; ast.IsExported(base) {
					lines = append(lines, name+" struct, embedded "+kind)
				} else {
					hidden = true
				}
			}
			for _, f := range field.Names {
				if f.IsExported() {
					lines = append(lines, name+" struct, field "+f.Name+" "+kind)
				} else {
					hidden = true
				}
			}
		}
		if hidden {
			lines = append(lines, name+" struct, unexported fields")
		}
	case *ast.InterfaceType:
		lines = []string{name + " interface"}
		for _, method := range of.Methods.List {
			text := onOneLine(t, method.Type)
			if method.Names != nil {
				text = method.Names[0].Name + strings.TrimPrefix(text, "func")
			}
			lines = append(lines, name+" interface, "+text)
		}
	default:
		lines = []string{name + " " + onOneLine(t, s.Type)}
	}
	return lines
}

// valueOf is the type of a variable or constant, and its value if that is a matter of the API. A variable of
// which no type is given is an error if it is called so; whatever it says is not a part of the API.
func valueOf(t *testing.T, s *ast.ValueSpec, i, j int) string {
	t.Helper()
	text := ""
	if s.Type != nil {
		text = " " + onOneLine(t, s.Type)
	}
	if len(s.Values) <= j {
		return text
	}
	value := onOneLine(t, s.Values[j])
	switch {
	case strings.Contains(value, "iota"):
		return fmt.Sprintf("%s = %s (%d)", text, value, i)
	case strings.HasPrefix(s.Names[j].Name, "Err"):
		return cmp.Or(text, " error")
	}
	return text + " = " + value
}

// onOneLine shows a part of a source on one line.
func onOneLine(t *testing.T, node ast.Node) string {
	t.Helper()
	var b bytes.Buffer
	var err error
	if spec, ok := node.(*ast.TypeSpec); ok {
		node = &ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{spec}}
	}
	if err = printer.Fprint(&b, token.NewFileSet(), node); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`([({,])\n\s*`).ReplaceAllString(b.String(), "$1 ")
	text = regexp.MustCompile(`\n\s*([)}])`).ReplaceAllString(text, " $1")
	text = regexp.MustCompile(`\n\s*`).ReplaceAllString(text, "; ")
	return regexp.MustCompile(`\s+`).ReplaceAllString(text, " ")
}

// diffAPI has the lines that went and the lines that came; nothing if there are none.
func diffAPI(before, after string) string {
	had, has := strings.Split(before, "\n"), strings.Split(after, "\n")
	var b strings.Builder
	for _, line := range had {
		if !slices.Contains(has, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range has {
		if !slices.Contains(had, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}
