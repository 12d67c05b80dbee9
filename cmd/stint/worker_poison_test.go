package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// An episode in which one worker after the other dies before it gets further is parked, and the run ends.
func TestFleetPoison(t *testing.T) {
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("three leases have to run out: set STINT_REQUIRE=1")
	}
	t.Parallel()
	dir := t.TempDir()
	text := strings.Replace(fmt.Sprintf(fleetStudy, 1, time.Minute, time.Minute), "[weak, strong]", "strong", 1)
	writeFile(t, dir, "study.yaml", text)
	f := offered(t, dir, "many")
	for range 12 {
		w := f.worker()
		select {
		case err := <-f.ended:
			if !strings.Contains(f.log.String(), "ended: host, 0 of 3 turns passed: parked: 3 workers lost it") || f.offer.ProcessState.ExitCode() != 4 {
				t.Errorf("the run ended without parking it: %v\n%s", err, f.log)
			}
			f.once(1)
			return
		case <-time.After(6 * time.Second):
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	}
	t.Errorf("the episode was not parked:\n%s", f.log)
}
