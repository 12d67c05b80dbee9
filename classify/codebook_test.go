package classify

import "testing"

func TestCodebook(t *testing.T) {
	book, err := ParseCodebook(CodebookText())
	if err != nil {
		t.Fatal(err)
	}
	if len(book.Leaves) != 27 {
		t.Errorf("%d leaves, want 27", len(book.Leaves))
	}
}
