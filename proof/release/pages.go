package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// pkgsite is the program behind the pages that users read.
const pkgsite = "golang.org/x/pkgsite/cmd/pkgsite@latest"

// pages has pkgsite show the checkout, and looks at the page of each package that users may import or install.
func pages(ctx context.Context, root string, log io.Writer) (string, error) {
	packages, err := public(ctx, root)
	if err != nil {
		return "", err
	}
	bin, err := os.MkdirTemp("", "pkgsite")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(bin) }()
	install := exec.CommandContext(ctx, "go", "install", pkgsite)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=", "GOWORK=off")
	install.Stdout, install.Stderr = log, log
	if err := install.Run(); err != nil {
		return "", fmt.Errorf("go install %s: %w", pkgsite, err)
	}
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	serve := exec.CommandContext(ctx, filepath.Join(bin, "pkgsite"), "-http="+addr, "-proxy=false", "-cache=false", ".")
	serve.Dir, serve.Stdout, serve.Stderr = root, log, log
	if err := serve.Start(); err != nil {
		return "", err
	}
	defer func() { _, _ = serve.Process.Kill(), serve.Wait() }()
	examples, err := look(ctx, "http://"+addr+"/", packages, log)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d pages, %d examples", len(packages), examples), nil
}

// look looks at all pages.
func look(ctx context.Context, site string, packages []string, log io.Writer) (examples int, err error) {
	for _, p := range packages {
		page, getErr := get(ctx, site+p)
		n, bad := judge(page)
		if getErr == nil && bad != "" {
			getErr = errors.New(bad)
		}
		if getErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p, getErr))
		}
		_, _ = fmt.Fprintf(log, "%s: %d examples\n", p, n)
		examples += n
	}
	return examples, err
}

var (
	example = regexp.MustCompile(`id="example-[^"]+"`)
	// What a writer meant as markup and Go does not know stays in the text as it was written.
	leftOver = regexp.MustCompile("<p>[^<]*(?:\\*\\*|```|\\]\\()")
)

// judge counts the examples of a page, and says what is wrong with it.
func judge(page string) (examples int, bad string) {
	switch left := leftOver.FindString(page); {
	case !strings.Contains(page, "Documentation-overview"):
		return 0, "no overview"
	case left != "":
		return 0, "markup that is not Go's: " + left
	}
	return len(example.FindAllString(page, -1)), ""
}

// public are the packages that users see: of all modules but proof, and no internal ones.
func public(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "./...", "./cmd/redislock", "./redislockotel/...", "./redislockgocron/...")
	cmd.Dir = root
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var some []string
	for p := range strings.FieldsSeq(string(said)) {
		if !strings.Contains(p+"/", "/internal/") && !strings.Contains(p+"/", "/test/") {
			some = append(some, p)
		}
	}
	return some, nil
}

// get waits for a server that has just been started.
func get(ctx context.Context, url string) (page string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		page, err = getOnce(ctx, url)
		if err == nil || !errors.Is(err, errNobody) {
			return page, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

var errNobody = errors.New("nobody answers")

func getOnce(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNobody, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(text), err
}

// freeAddr is an address of this machine that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
