package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A file is one of an archive.
type file struct {
	name    string
	content []byte
	mode    int64
}

// packedAt is the time that all files have in an archive, so that it does not depend on when it was made. A zip archive
// has none before 1980.
var packedAt = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack makes the archive for a target, and returns its name.
func (j job) pack(t target, files []file) (name string, content []byte, err error) {
	dir := strings.Join([]string{"redislock", j.version, t.system, t.machine}, "_")
	if t.system == "windows" {
		content, err = packZip(dir, files)
		return dir + ".zip", content, err
	}
	content, err = packTar(dir, files)
	return dir + ".tar.gz", content, err
}

func packTar(dir string, files []file) ([]byte, error) {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	out := tar.NewWriter(zipped)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: dir + "/" + f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: packedAt,
			Format: tar.FormatUSTAR,
		}
		if err := out.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := out.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	err := zipped.Close()
	return b.Bytes(), err
}

func packZip(dir string, files []file) ([]byte, error) {
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, f := range files {
		w, err := out.CreateHeader(&zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: packedAt})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return b.Bytes(), err
}

// sums are the checksums of files, as sha256sum -c reads them.
func sums(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.Bytes()
}
