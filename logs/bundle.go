package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// LogFile is one of the files that an agent program wrote in an attempt: its output, its session file.
type LogFile struct {
	Name    string `json:"name"`
	Data    []byte `json:"-"`
	LeftOut int64  `json:"left_out,omitempty"` // bytes that were dropped from its middle or its beginning
}

// bundleIndex is the first line of a bundle. The files follow, each with a newline behind it.
type bundleIndex struct {
	Version int           `json:"stint_log"`
	Files   []bundledFile `json:"files"`
}

type bundledFile struct {
	LogFile
	Bytes int `json:"bytes"`
}

const bundleVersion = 1

// BundleLog joins the files of an attempt into one raw log, which [LogRef] names. The files stand in it byte for byte.
func BundleLog(files []LogFile) ([]byte, error) {
	index := bundleIndex{Version: bundleVersion, Files: []bundledFile{}}
	for _, f := range files {
		index.Files = append(index.Files, bundledFile{f, len(f.Data)})
	}
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(index); err != nil {
		return nil, fmt.Errorf("encoding the index of an agent's log: %w", err)
	}
	for _, f := range files {
		out.Write(f.Data)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// placedFile is a file of a bundle with its offset.
type placedFile struct {
	LogFile
	offset int64
	input  *inputFile // of a file that lies in no bundle; Data are nil until [programFiles.get]
	err    error      // why Data are not all there
}

// unbundle takes a raw log apart. The data are parts of content.
func unbundle(content []byte) ([]placedFile, error) {
	end := bytes.IndexByte(content, '\n')
	var index bundleIndex
	if end < 0 || json.Unmarshal(content[:end], &index) != nil || index.Version == 0 {
		return nil, errors.New("it does not begin with the index of its files")
	}
	if index.Version != bundleVersion {
		return nil, fmt.Errorf("it has version %d, and this stint reads %d", index.Version, bundleVersion)
	}
	at := end + 1
	var files []placedFile
	for _, f := range index.Files {
		if f.Bytes < 0 || f.Bytes >= len(content)-at {
			return files, fmt.Errorf("it ends within the file %q", clip(f.Name, 40))
		}
		f.Data = content[at : at+f.Bytes]
		files = append(files, placedFile{f.LogFile, int64(at), nil, nil})
		at += f.Bytes + 1
	}
	return files, nil
}
