package classify

import (
	"regexp"
	"strings"
)

// mask stands in place of a line that speaks to the reader of a packet.
const mask = "[masked: this line speaks to its reader]"

// speech finds text that is meant for whoever classifies an attempt, and labels that only this book has.
func (t *Taxonomy) speech() *regexp.Regexp {
	var leaves []string
	for _, l := range t.Leaves {
		_, name, _ := strings.Cut(l.ID, ".")
		// These are words of every log and every service.
		if strings.Contains(name, "_") && l.ID != LeafToolCall && l.ID != LeafRateLimit && l.ID != LeafAgentExit {
			leaves = append(leaves, regexp.QuoteMeta(name))
		}
	}
	parts := []string{
		`\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|instruction|instructions|rules|codebook|packet)\b`,
		`\b(?:classif(?:y|ied)|label(?:led)?|categori[sz]ed?|mark(?:ed)?|grade(?:d)?|blame|attribute(?:d)?)\b.{0,30}\b(?:this|it|the (?:attempt|failure|run|episode|agent)|as)\b.{0,60}\b(?:infra\w*|bench\w*|drift|environment|provider|platform|unknown|not (?:the|my) (?:agent|fault)|passed|success)\b`,
		`\b(?:verdict|root cause|final label|correct label|true cause|classification|abstain_reason)\b["']?\s*(?:is|was|:|=|should be|must be)`,
		`\b(?:judge|grader|evaluator|classifier|annotator|labeller|auditor|reviewer of this)\b.{0,40}\b(?:must|should|please|note|read|choose|answer|pick|will|need|is told|are told|:)`,
		`\b(?:dear|hey|hello|attention|note to(?: the)?|message (?:to|for)(?: the)?|instructions? (?:to|for)(?: the)?)\s+(?:the\s+)?(?:judge|grader|evaluator|classifier|annotator|auditor|ai|assistant|llm|language model|reader)\b`,
		`\b(?:system prompt|you are now|new instructions|as an ai)\b`,
		`\\?"(?:packet_id|violated_requirement|first_bad_event|runner_up|recovered_events|abstain_reason|certainty)\\?"\s*:`,
		`\b(?:the failure|this failure|my failure|the cause)\b.{0,40}\b(?:was|is)\b.{0,40}\b(?:caused by|due to|the fault of|not caused|infrastructure)\b`,
		`\b(?:drift|infra|bench|unknown)\.(?:[a-z]+_)*[a-z]+\b`,
		`\b(?:` + strings.Join(leaves, "|") + `)\b`,
	}
	return regexp.MustCompile(`(?i)` + strings.Join(parts, "|"))
}

// spokenTo returns the lines of an untrusted text that speak to its reader, as edits that mask them.
func (t *Taxonomy) spokenTo(text string) []edit {
	toReader := t.toReader()
	var out []edit
	at := 0
	for _, line := range splitAnyLines(text) {
		if toReader.MatchString(line) {
			body := strings.TrimRight(line, "\r\n")
			if n := len(out); n > 0 && out[n-1].end == at {
				out[n-1].end = at + len(body)
			} else {
				out = append(out, edit{at, at + len(body), mask})
			}
		}
		at += len(line)
	}
	return out
}

// splitAnyLines splits after line ends, written as they are or as \n inside a JSON text.
func splitAnyLines(text string) []string {
	var out []string
	for len(text) > 0 {
		end := len(text)
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			end = i + 1
		}
		if i := strings.Index(text[:end], `\n`); i >= 0 {
			end = i + 2
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}
