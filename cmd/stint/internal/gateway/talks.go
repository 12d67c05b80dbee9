package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
)

// keptTalks is how many conversations of an attempt are remembered: agents ask for titles and summaries, and
// run helpers, between the requests of the main one.
const keptTalks = 8

// talks remembers the conversations of an attempt as hashes, so that of each request only what is new is
// recorded, and all of it can be put together again.
type talks struct {
	mu   sync.Mutex
	kept []talk // the latest last
}

type talk struct {
	seq      int // of the line that records the request
	messages [][sha256.Size]byte
	settings map[string][sha256.Size]byte
}

// recordRequest records the messages that no earlier request began with, and of everything else what differs
// from the request named as the base.
func (u *upstream) recordRequest(info *call, body []byte) {
	if u.opt.Recorder == nil {
		return
	}
	event := map[string]any{"bytes": len(body)}
	if info.proxied {
		event["protocol"] = info.dialect.name()
	}
	o, err := cutObject(body)
	if err != nil {
		u.opt.Recorder.Event("request", event)
		return
	}
	messages, ok := cutArray(o.get(info.dialect.list()))
	if !ok && o.get(info.dialect.list()) != nil {
		messages = []json.RawMessage{o.get(info.dialect.list())}
	}
	now := talk{settings: map[string][sha256.Size]byte{}}
	for _, m := range messages {
		now.messages = append(now.messages, sha256.Sum256(m))
	}
	for _, m := range o.members {
		if m.key != info.dialect.list() {
			now.settings[m.key] = sha256.Sum256(m.value)
		}
	}
	u.talks.mu.Lock()
	defer u.talks.mu.Unlock()
	base, same := u.talks.base(now.messages)
	settings := map[string]json.RawMessage{}
	for _, m := range o.members {
		if m.key == info.dialect.list() || base != nil && base.settings[m.key] == now.settings[m.key] {
			continue
		}
		settings[m.key] = m.value
	}
	event["messages"], event["same"], event["new"], event["settings"] = len(messages), same, messages[same:], settings
	if base != nil {
		event["base"] = base.seq
		var gone []string
		for key := range base.settings {
			if _, still := now.settings[key]; !still {
				gone = append(gone, key)
			}
		}
		if gone != nil {
			slices.Sort(gone)
			event["dropped"] = gone
		}
	}
	now.seq = u.opt.Recorder.record("request", event)
	u.talks.keep(now, base)
}

// base is the remembered request that shares the longest beginning with the messages; the latest if none
// shares any, nil if there is none.
func (t *talks) base(messages [][sha256.Size]byte) (base *talk, same int) {
	for i := len(t.kept) - 1; i >= 0; i-- {
		k, n := &t.kept[i], 0
		for n < len(k.messages) && n < len(messages) && k.messages[n] == messages[n] {
			n++
		}
		if base == nil || n > same {
			base, same = k, n
		}
	}
	return base, same
}

// keep remembers a request in place of the one that it continues.
func (t *talks) keep(now talk, base *talk) {
	kept := t.kept[:0]
	for i := range t.kept {
		k := &t.kept[i]
		if k == base && len(now.messages) >= len(k.messages) && len(k.messages) > 0 && k.messages[len(k.messages)-1] == now.messages[len(k.messages)-1] {
			continue
		}
		kept = append(kept, *k)
	}
	if len(kept) == keptTalks {
		kept = append(kept[:0], kept[1:]...)
	}
	t.kept = append(kept, now)
}
