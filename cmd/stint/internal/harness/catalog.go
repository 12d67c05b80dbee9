package harness

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed files/*.yaml
var shipped embed.FS

// Shipped are the names of the harness files that come with stint, sorted.
func Shipped() []string {
	entries, err := fs.ReadDir(shipped, "files")
	if err != nil {
		panic("harness: the embedded files are not readable: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// IsPath says whether the name of a harness in a study is the path of a file.
func IsPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Load returns the harness of a name, or of a path relative to a folder.
func Load(name, dir string) (*File, error) {
	if IsPath(name) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return ReadFile(name)
	}
	if !slices.Contains(Shipped(), name) {
		return nil, &FileError{name, "there is no harness of this name", "stint ships " + strings.Join(Shipped(), ", ") + "; a file of your own is named by its path, for example ./my-agent.yaml"}
	}
	b, err := shipped.ReadFile("files/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the harness file of %s: %w", name, err)
	}
	f, err := ParseFile(name, b)
	if err != nil {
		return nil, err
	}
	f.path = ""
	return f, nil
}

// jsonText quotes a value for a JSON text.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("quoting a value: %w", err)
	}
	return string(b), nil
}
