package episode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Programs that are written and started by several goroutines at once all start. Without the lock some of them
// are "text file busy".
func TestUnforked(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				path := filepath.Join(dir, fmt.Sprintf("%d-%d.sh", g, i))
				err := unforked(func() error { return os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o755) })
				if err == nil {
					err = exec.Command(path).Run()
				}
				if err != nil {
					t.Errorf("%s: %v", filepath.Base(path), err)
				}
			}
		})
	}
	wg.Wait()
}
