package logs

import (
	"fmt"
	"strings"
)

// Format is a kind of log that agents and runners leave behind.
type Format struct {
	Name       string // as `stint ingest --format` takes it
	Title      string
	Unverified bool // its reader was made from descriptions alone: no real file of it was ever read

	// part is what a file is that somebody says to be of this format, and that recognise does not know.
	part string
	// recognise says whether a file is of this format. Of all formats at most one may say so.
	recognise func(*head) (claim, bool)
	// read turns the files of one log into rows. What cannot be read of them is a row of its own (out.unreadable);
	// the error is for what ends the reading of all logs.
	read func(in *logInput, out *rowSink) error
}

// claim is what a format says about a file that it recognised.
type claim struct {
	part string // what the file is to the format: "session.jsonl", "stdout"; "" if the format has one kind of file only
	// session joins the files of one folder that belong to one log; "" = the file is a log alone.
	session string
	// dir is the folder whose files are one log, if that is not the file's own.
	dir string
	// model and version are the agent's, if the beginning of the file says them.
	model, version string
	// beside is a file that belongs to the format and has nothing that another file does not say better.
	beside bool
}

// Formats lists all formats, sorted by name in each group.
func Formats() []Format {
	var all []Format
	all = append(all, stintFormats()...)
	all = append(all, programFormats()...)
	return append(all, runnerFormats()...)
}

// formatOf is the format of a name.
func formatOf(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, &FormatError{Name: name}
}

// FormatError is a name that no format has.
type FormatError struct{ Name string }

func (e *FormatError) Error() string { return fmt.Sprintf("there is no format %q", clip(e.Name, 60)) }

// Hint tells the way out.
func (e *FormatError) Hint() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return "the formats are " + strings.Join(names, ", ")
}

// ExitCode is 2: the input is wrong.
func (e *FormatError) ExitCode() int { return 2 }

// recogniseFile finds the format of a file by its content; ok is false if none knows it.
func recogniseFile(formats []Format, h *head) (f Format, c claim, ok bool) {
	for _, f := range formats {
		if c, ok := f.recognise(h); ok {
			return f, c, true
		}
	}
	return Format{}, claim{}, false
}
