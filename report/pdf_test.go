package report

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// pdfStreams returns the streams of a PDF, decompressed, by the number of their object, after checking that every
// object stands where the table of the file says.
func pdfStreams(t *testing.T, pdf []byte) map[int][]byte {
	t.Helper()
	tail := string(pdf[max(0, len(pdf)-40):])
	_, after, _ := strings.Cut(tail, "startxref\n")
	start, err := strconv.Atoi(strings.TrimSuffix(after, "\n%%EOF\n"))
	if err != nil || !bytes.HasPrefix(pdf[start:], []byte("xref\n0 ")) {
		t.Fatalf("the file does not end with its table: %q", tail)
	}
	out := make(map[int][]byte)
	for i, line := range strings.Split(string(pdf[start:]), "\n")[3:] {
		if !strings.HasSuffix(line, " n ") {
			break
		}
		at, _ := strconv.Atoi(line[:10])
		if !bytes.HasPrefix(pdf[at:], fmt.Appendf(nil, "%d 0 obj\n", i+1)) {
			t.Fatalf("object %d is not at %d", i+1, at)
		}
		if _, body, ok := bytes.Cut(pdf[at:], []byte("\nstream\n")); ok && bytes.Index(pdf[at:], []byte("endobj")) > bytes.Index(pdf[at:], []byte("\nstream\n")) {
			r, err := zlib.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatalf("object %d: %v", i+1, err)
			}
			if out[i+1], err = io.ReadAll(r); err != nil {
				t.Fatalf("object %d: %v", i+1, err)
			}
		}
	}
	return out
}

// TestFiguresAsPDF holds that every figure is a page of PDF of the right width whose text can be read back, and that
// the same figure gives the same bytes.
func TestFiguresAsPDF(t *testing.T) {
	for name, figures := range drawnSets(t) {
		for _, f := range figures {
			for width, pdf := range map[string][]byte{"493.2": f.PDF, "239.76": f.ColumnPDF} {
				if !bytes.Contains(pdf, []byte("/MediaBox [0 0 "+width+" ")) {
					t.Errorf("%s/%s: no page of width %s", name, f.Name, width)
				}
				streams := pdfStreams(t, pdf)
				if len(streams) != 3 {
					t.Fatalf("%s/%s: %d streams, want the page, the font and its letters", name, f.Name, len(streams))
				}
				svg := f.SVG
				if width != "493.2" {
					svg = f.Column
				}
				want := make(map[string]int)
				for _, text := range placedTexts(t, svg) {
					want[text.text]++
				}
				got := pdfTexts(t, streams)
				for text, n := range want {
					if got[text] != n {
						t.Errorf("%s/%s: %q occurs %d times in PDF, %d times in SVG", name, f.Name, text, got[text], n)
					}
				}
			}
		}
	}
	again := figuresOf(t, figureSets()["one"])
	for i, f := range drawnSets(t)["one"] {
		if !bytes.Equal(f.PDF, again[i].PDF) || !bytes.Equal(f.ColumnPDF, again[i].ColumnPDF) {
			t.Errorf("%s: drawn twice, the bytes of the PDF differ", f.Name)
		}
	}
}

var (
	shownText  = regexp.MustCompile(`\[(.*?)\] TJ`)
	letters4   = regexp.MustCompile(`<([0-9A-F]+)>`)
	mappedRune = regexp.MustCompile(`<([0-9A-F]{4})> <([0-9A-F]{4})>`)
)

// pdfTexts counts the texts of a page by what they mean.
func pdfTexts(t *testing.T, streams map[int][]byte) map[string]int {
	t.Helper()
	letter := make(map[string]rune)
	for _, m := range mappedRune.FindAllSubmatch(streams[10], -1) {
		n, _ := strconv.ParseUint(string(m[2]), 16, 16)
		letter[string(m[1])] = rune(n)
	}
	out := make(map[string]int)
	for _, m := range shownText.FindAllSubmatch(streams[4], -1) {
		text := ""
		for _, part := range letters4.FindAllSubmatch(m[1], -1) {
			for g := range slices.Chunk(part[1], 4) {
				text += string(letter[string(g)])
			}
		}
		out[text]++
	}
	return out
}

// TestFontSubset holds that the letters used keep their outlines and widths, accents included, and others lose them.
func TestFontSubset(t *testing.T) {
	whole, err := sfnt.Parse(liberationsansregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	var buf sfnt.Buffer
	index := func(r rune) sfnt.GlyphIndex {
		g, err := whole.GlyphIndex(&buf, r)
		if err != nil || g == 0 {
			t.Fatalf("no glyph for %q: %v", r, err)
		}
		return g
	}
	used := []rune("a−é≥Å")
	var glyphs []sfnt.GlyphIndex
	for _, r := range used {
		glyphs = append(glyphs, index(r))
	}
	file, err := subsetFont(liberationsansregular.TTF, glyphs)
	if err != nil {
		t.Fatal(err)
	}
	if len(file) > 60_000 {
		t.Errorf("five letters take %d bytes", len(file))
	}
	if fontSum(file) != 0xB1B0AFBA {
		t.Errorf("the sum of the font is %x", fontSum(file))
	}
	// The parser wants tables that a PDF has no use for.
	tables, err := fontTables(file)
	if err != nil {
		t.Fatal(err)
	}
	offsets := func(ttf []byte) (glyf []byte, at []int) {
		tt, err := fontTables(ttf)
		if err != nil {
			t.Fatal(err)
		}
		at, err = glyphOffsets(tt["loca"], tt["head"][51] == 1, whole.NumGlyphs(), len(tt["glyf"]))
		if err != nil {
			t.Fatal(err)
		}
		return tt["glyf"], at
	}
	glyf, at := offsets(file)
	first, from := offsets(liberationsansregular.TTF)
	for i, g := range glyphs {
		if !bytes.HasPrefix(glyf[at[g]:at[g+1]], first[from[g]:from[g+1]]) || at[g] == at[g+1] {
			t.Errorf("%q lost its outline", used[i])
		}
		for _, part := range glyphParts(glyf[at[g]:at[g+1]]) {
			if at[part] == at[part+1] {
				t.Errorf("a part of %q has no outline", used[i])
			}
		}
		adv, err := whole.GlyphAdvance(&buf, g, fixed.Int26_6(whole.UnitsPerEm()), 0)
		if err != nil || int(tables["hmtx"][4*int(g)])<<8+int(tables["hmtx"][4*int(g)+1]) != int(adv) {
			t.Errorf("%q has another width than %d: %v", used[i], adv, err)
		}
	}
	if z := index('z'); at[z] != at[z+1] {
		t.Error("z kept its outline, although no text has it")
	}
	for n := range len(liberationsansregular.TTF) / 4096 {
		if _, err := subsetFont(liberationsansregular.TTF[:4096*n], glyphs); err == nil {
			t.Errorf("a font cut after %d bytes is taken", 4096*n)
		}
	}
}

// TestPDFInTeX includes a figure of either width in a document, where there is a TeX.
func TestPDFInTeX(t *testing.T) {
	tex, err := exec.LookPath("pdflatex")
	if err != nil {
		missing(t, "pdflatex")
	}
	dir := t.TempDir()
	doc := "\\documentclass[twocolumn]{article}\\usepackage{graphicx}\\begin{document}\n"
	for _, f := range drawnSets(t)["judged"] {
		for ext, b := range map[string][]byte{"": f.PDF, "-column": f.ColumnPDF} {
			if err := os.WriteFile(filepath.Join(dir, f.Name+ext+".pdf"), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		doc += fmt.Sprintf("\\begin{figure*}\\includegraphics[width=\\textwidth]{%[1]s.pdf}\\end{figure*}\\begin{figure}\\includegraphics[width=\\columnwidth]{%[1]s-column.pdf}\\end{figure}\n", f.Name)
	}
	if err := os.WriteFile(filepath.Join(dir, "doc.tex"), []byte(doc+"\\end{document}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tex, "-interaction=nonstopmode", "-halt-on-error", "doc.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
