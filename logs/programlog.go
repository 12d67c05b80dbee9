package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
)

// programReader turns the files that an agent program left in one attempt into events.
type programReader func(b *eventBuilder, files programFiles)

// programReaderOf is the reader of a name, nil if there is none.
func programReaderOf(name string) programReader {
	switch name {
	case "opencode":
		return readOpenCode
	case "qwen-code":
		return readQwen
	case "claude-code":
		return readClaude
	case "kimi-cli":
		return readKimiCLI
	case "kimi-code":
		return readKimiCode
	case "openhands":
		return readOpenHands
	case "vibe":
		return readVibe
	case "codex":
		return readCodex
	case "mini-swe":
		return readMini
	case TextReader:
		return readText
	}
	return nil
}

// programFiles are the files of a bundle, with the blob they lie in.
type programFiles struct {
	blob  string
	files []placedFile
}

// get is a file by its name; its Data are nil if there is none.
func (p programFiles) get(name string) placedFile {
	for _, f := range p.files {
		if f.Name == name {
			if f.input != nil && f.Data == nil && isDocument(name) {
				f.Data, f.err = f.input.data()
			}
			return f
		}
	}
	return placedFile{}
}

// isDocument says whether a part of a log is one JSON document; the others are lines.
func isDocument(part string) bool { return strings.HasSuffix(part, ".json") }

// pathOf is where the places of a file are.
func (p programFiles) pathOf(f placedFile) string {
	if f.input != nil {
		return f.input.path
	}
	return p.blob
}

// has says whether a file is there and not empty.
func (p programFiles) has(name string) bool {
	f := p.get(name)
	return f.input != nil && !isDocument(name) || len(bytes.TrimSpace(f.Data)) > 0
}

// named are the names of files that are wanted by their whole name or the last part of it, sorted and each once.
func (p programFiles) named(want func(name, base string) bool) []string {
	var names []string
	for _, f := range p.files {
		if want(f.Name, f.Name[strings.LastIndexByte(f.Name, '/')+1:]) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// program reads a bundle.
func (b *eventBuilder) program(read programReader, file string, content []byte) {
	files, err := unbundle(content)
	p := programFiles{blob: file, files: files}
	if err != nil {
		b.place(file, 0, nil)
		b.unreadable(0, "the agent's log: %v", err)
	}
	read(b, p)
	for _, f := range files {
		if f.LeftOut > 0 {
			b.at, b.sha = Place{File: file, Offset: f.offset, Length: int64(len(f.Data))}, ""
			b.add(EventRow{Actor: "system", Channel: ChannelSystem, Kind: EventLeftOut, Text: pairs("file", f.Name, "bytes", fmt.Sprint(f.LeftOut))})
		}
	}
	for _, name := range plainFiles {
		b.tail(p, name)
	}
}

// plainFiles are kept of every program: what it printed as complaints, which of its logs could not be kept and why,
// and the command lines of what still ran when it ended.
var plainFiles = []string{"stderr", "not_kept", "left_running"}

// tailBytes is how much of a program's plain output becomes an event.
const tailBytes = 2 << 10

// tail keeps the end of a plain file as one event. Anybody in the sandbox may have written it.
func (b *eventBuilder) tail(p programFiles, name string) {
	f := p.get(name)
	text := bytes.TrimSpace(f.Data)
	if len(text) == 0 {
		return
	}
	b.time = nil
	b.place(p.blob, f.offset, f.Data)
	b.add(EventRow{Actor: "agent", Channel: ChannelOther, Kind: EventNotice, Text: name + ": " + strings.ToValidUTF8(string(text[max(0, len(text)-tailBytes):]), "\uFFFD")})
}

// TextReader is the reader of a program whose log has no reader of its own: its last lines are kept as notices.
const TextReader = "text"

// readText knows nothing of the program: the end of its output is all there is.
func readText(b *eventBuilder, p programFiles) {
	for _, f := range p.files {
		if !slices.Contains(plainFiles, f.Name) {
			b.tail(p, f.Name)
		}
	}
}

// lines are the lines of a file with their numbers from 1, the place set to each.
func (b *eventBuilder) lines(p programFiles, name string) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		b.eachLine(p, name, nil, func(line int, l *decodedLine) bool { return yield(line, l.data) })
	}
}

// eachLine calls f for the lines of a file until it says false: of all files of that name that somebody named, or of
// the one in memory.
func (b *eventBuilder) eachLine(p programFiles, name string, decode newDecoder, f func(int, *decodedLine) bool) {
	for _, file := range p.files {
		switch {
		case file.Name != name:
		case file.input == nil:
			b.memoryLines(p.blob, file, decode, f)
			return
		case !b.inputLines(file.input, decode, f):
			return
		}
	}
}

// maxLine, maxLines and maxDocument are what is read: of what an agent left in an attempt less than of a file that
// somebody names.
func (b *eventBuilder) maxLine() int {
	if b.sink != nil {
		return maxForeignLine
	}
	return maxLogLine
}

func (b *eventBuilder) maxLines() int {
	if b.sink != nil {
		return math.MaxInt
	}
	return maxLogLines
}

func (b *eventBuilder) maxDocument() int {
	if b.sink != nil {
		return maxForeignDocument
	}
	return maxLogLine
}

// jsonLines calls f for every line of a file that is a JSON object, with the place set. A line that is none is an
// event, but what a program prints before its first object is not: many greet.
func (b *eventBuilder) jsonLines(p programFiles, name string, f func(raw []byte) error) {
	b.jsonObjects(p, name, false, f)
}

// jsonObjects is jsonLines for a file whose plain lines are fine, or not.
func (b *eventBuilder) jsonObjects(p programFiles, name string, plain bool, f func(raw []byte) error) {
	b.decodedLines(p, name, plain, nil, func(raw []byte, _ any) error { return f(raw) })
}

// decodedLines is jsonObjects with a decoder, which runs on all cores if the file is one that somebody named. Its error
// is the line's.
func (b *eventBuilder) decodedLines(p programFiles, name string, plain bool, decode newDecoder, f func(raw []byte, decoded any) error) {
	seen := 0
	b.eachLine(p, name, decode, func(line int, l *decodedLine) bool {
		switch {
		case l.blank, !l.object && (plain || seen == 0):
		case line > b.maxLines():
			b.unreadable(line, "%s has more than %d lines; the rest is not read", name, b.maxLines())
			return false
		case b.at.Length > int64(b.maxLine()):
			b.unreadable(line, "the line of %s is longer than %d bytes", name, b.maxLine())
		case !l.object:
			b.unreadable(line, "the line of %s is no JSON object", name)
		default:
			seen++
			b.readRecord(l.data, l.utf8, l.twice)
			err := l.err
			if err == nil {
				err = f(l.data, l.decoded)
			}
			switch {
			case err != nil && b.torn:
				b.unreadable(line, "%s ends within this line: %s", name, clip(err.Error(), 200))
			case err != nil:
				b.unreadable(line, "the line of %s is no event: %s", name, clip(err.Error(), 200))
			}
		}
		return true
	})
}

// memoryLines is inputLines for a file that is in memory.
func (b *eventBuilder) memoryLines(blob string, file placedFile, decode newDecoder, yield func(int, *decodedLine) bool) {
	offset, line, decoder := file.offset, 0, decode.make()
	for raw := range bytes.Lines(file.Data) {
		b.place(blob, offset, raw)
		offset += int64(len(raw))
		l := decodedLine{rawLine: rawLine{data: raw}}
		l.look(b.maxLine(), decoder)
		if line++; !yield(line, &l) {
			return
		}
	}
}

// document calls f for a file that is one JSON document, with the place set.
// Of a session of several turns each can have left one.
func (b *eventBuilder) document(p programFiles, name string, f func(raw []byte) error) {
	for _, file := range p.files {
		if file.Name == name {
			one := programFiles{blob: p.blob, files: []placedFile{file}}
			b.oneDocument(one, one.get(name), f)
			if b.sink == nil {
				return
			}
		}
	}
}

func (b *eventBuilder) oneDocument(p programFiles, file placedFile, f func(raw []byte) error) {
	name := file.Name
	if !b.placeWhole(p, file) {
		return
	}
	if len(file.Data) > b.maxDocument() {
		b.unreadable(0, "%s is longer than %d bytes", name, b.maxDocument())
		return
	}
	b.read(file.Data)
	if err := f(file.Data); err != nil {
		b.unreadable(0, "%s: %s", name, clip(err.Error(), 200))
	}
}

// placeWhole sets the place to all of a file; false if it could not be read, which is told.
func (b *eventBuilder) placeWhole(p programFiles, file placedFile) bool {
	b.place(p.pathOf(file), file.offset, file.Data)
	if file.err != nil {
		b.unreadable(0, "%s: %s", file.Name, plainError(file.err))
	}
	return file.err == nil
}

// jsonList calls f for every element of a list in a JSON document, with the place set.
func (b *eventBuilder) jsonList(p programFiles, name, key string, f func(raw []byte) error) {
	file := p.get(name)
	if !b.placeWhole(p, file) {
		return
	}
	n := 0
	err := listElements(file.Data, key, func(at int64, raw []byte) error {
		b.place(p.pathOf(file), file.offset+at, raw)
		if n++; n > b.maxLines() {
			return fmt.Errorf("it has more than %d elements; the rest is not read", b.maxLines())
		}
		if b.stopped() {
			return nil
		}
		b.read(raw)
		if err := f(raw); err != nil {
			b.unreadable(0, "element %d of %s in %s is no event: %s", n, key, name, clip(err.Error(), 200))
		}
		return nil
	})
	if err != nil {
		b.unreadable(0, "%s: %s", name, clip(err.Error(), 200))
	}
}

// listElements walks through the list under a key of a JSON object, and through the rest of it to see that it is whole.
func listElements(data []byte, key string, f func(at int64, raw []byte) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is no JSON object")
	}
	var raw json.RawMessage
	found := false
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		if t != key || found {
			if err := dec.Decode(&raw); err != nil {
				return err
			}
			continue
		}
		if t, err = dec.Token(); err != nil || t != json.Delim('[') {
			return fmt.Errorf("%q is no list", key)
		}
		for dec.More() {
			if err := dec.Decode(&raw); err != nil {
				return err
			}
			if err := f(dec.InputOffset()-int64(len(raw)), raw); err != nil {
				return err
			}
		}
		if _, err := dec.Token(); err != nil {
			return ended(err)
		}
		found = true
	}
	if _, err := dec.Token(); err != nil {
		return ended(err)
	}
	if !found {
		return fmt.Errorf("it has no list %q", key)
	}
	return nil
}

// ended is the error of a document that ends too early.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// millis is a time in milliseconds; nil for none.
func millis(ms int64) *time.Time {
	if ms <= 0 {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}

// seconds is the time between two in milliseconds, nil if either is missing.
func seconds(from, to int64) *float64 {
	if from <= 0 || to < from {
		return nil
	}
	s := float64(to-from) / 1000
	return &s
}

// ReportedUsage is what an agent program's own log says about its consumption; nil if it says nothing. Requests are
// the model's answers that the log has.
func ReportedUsage(reader string, bundle []byte) *Usage {
	read := programReaderOf(reader)
	if read == nil {
		return nil
	}
	files, _ := unbundle(bundle) // what cannot be read is told at ingest
	b := &eventBuilder{row: &AttemptRow{}, via: ViaReader}
	read(b, programFiles{files: files})
	u := &Usage{Via: ViaReader}
	var answers int64
	var sum tokenSum
	summed := false
	for _, e := range b.events {
		if e.Kind != EventModelAnswer && e.Kind != EventUsage || e.Input == nil && e.Output == nil {
			continue
		}
		if e.Kind == EventUsage {
			summed = true // a sum, of a program that does not say it for each answer
		} else {
			answers++
		}
		sum.add(e.Tokens)
	}
	u.In, u.Cached, u.CacheWrite, u.Out, u.Reasoning = sum.Input, sum.Cached, sum.CacheWrite, sum.Output, sum.Reasoning
	switch {
	case answers > 0:
		u.Requests = &answers
	case !summed:
		return nil
	}
	return u
}
