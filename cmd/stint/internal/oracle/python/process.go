package python

import (
	"fmt"
	"strings"
)

// The ways in which a server as a process can misbehave.
const (
	SwitchExitEarly = "exit_early"  // the process ends at once
	SwitchWrongPort = "wrong_port"  // it listens, but not on PORT
	SwitchUnhealthy = "unhealthy"   // it listens, but /health never answers 200
	SwitchCrash     = "crash_after" // it ends in the middle of a request, after Options.After of them
	SwitchFlaky     = "flaky_500"   // every Options.After-th request is answered with 500
)

// The places of tail.py at which a process is broken.
const (
	beginning = "    port = os.environ.get(\"PORT\", \"\")\n"
	listening = "Server((\"127.0.0.1\", int(port)), Handler)"
	answering = "    row_id = None\n"
)

// process breaks the process that the end of the source describes. Requests for /health are not counted: how many of
// them there are depends on time.
func (o Options) process(text string) string {
	counted := func(then string) string {
		return answering + "    if path != \"/health\":\n        COUNTED.append(path)\n" + then
	}
	switch o.Switch {
	case SwitchExitEarly:
		return strings.Replace(text, beginning, "    sys.exit(\"cannot go on\")\n"+beginning, 1)
	case SwitchWrongPort:
		return strings.Replace(text, listening, "Server((\"127.0.0.1\", 0), Handler)", 1)
	case SwitchCrash:
		crash := counted(fmt.Sprintf("        if len(COUNTED) > %d:\n            os._exit(70)\n", o.After))
		return "COUNTED = []\n\n\n" + strings.Replace(text, answering, crash, 1)
	case SwitchFlaky:
		flaky := counted(fmt.Sprintf("        if len(COUNTED) %% %d == 0:\n            return 500, error_body(\"internal\", None)\n", max(o.After, 1)))
		return "COUNTED = []\n\n\n" + strings.Replace(text, answering, flaky, 1)
	}
	return text
}
