package harness

import "testing"

func TestShippedFiles(t *testing.T) {
	for _, name := range Shipped() {
		f, err := Load(name, "")
		if err != nil {
			t.Error(err)
			continue
		}
		if f.Name != name || f.Path() != "" || f.SHA() == "" || f.Reader == "" || f.Notes == "" || len(f.Ends) == 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
