package classify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/logs"
)

// TestJudgeLadder: an endpoint is asked in the strictest way it takes, and what it does not take is left out.
func TestJudgeLadder(t *testing.T) {
	refuse := func(text string) error { return &CallFailure{Class: FailRefused, Status: 400, Message: text} }
	for name, tt := range map[string]struct {
		refuses func(r openai.ChatCompletionRequest) error
		rung    string
		calls   int
	}{
		"takes everything": {func(openai.ChatCompletionRequest) error { return nil }, rungSchema, 1},
		"no limits in a schema": {func(r openai.ChatCompletionRequest) error {
			if f := r.ResponseFormat; f != nil && f.JSONSchema != nil && strings.Contains(string(f.JSONSchema.Schema.(json.RawMessage)), "maxLength") {
				return refuse("Invalid schema for response_format: maxLength is not permitted")
			}
			return nil
		}, rungSchemaPlain, 2},
		"objects only": {func(r openai.ChatCompletionRequest) error {
			if f := r.ResponseFormat; f != nil && f.JSONSchema != nil {
				return refuse("response_format of type json_schema is not supported")
			}
			return nil
		}, rungObject, 3},
		"text only": {func(r openai.ChatCompletionRequest) error {
			if r.ResponseFormat != nil {
				return refuse("unknown field")
			}
			return nil
		}, rungText, 4},
		"no temperature": {func(r openai.ChatCompletionRequest) error {
			if r.Temperature != 0 {
				return refuse("Unsupported value: 'temperature' does not support 0 with this model")
			}
			return nil
		}, rungSchema, 2},
		"the newer name of the limit": {func(r openai.ChatCompletionRequest) error {
			if r.MaxCompletionTokens == 0 {
				return refuse("Unsupported parameter: 'max_tokens'; use 'max_completion_tokens' instead")
			}
			return nil
		}, rungSchema, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var c *scripted
			c = &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
				if err := tt.refuses(c.last); err != nil {
					return "", "", err
				}
				s, f, _ := honest("infra.sandbox")(n, a)
				if a.rung == rungText {
					s = "Here it is:\n```json\n" + s + "\n```\nThat is all."
				}
				return s, f, nil
			}}
			dir := t.TempDir()
			s, rows := judgeTables(t, dir, openTables(3, strangeEvents), c, func(o *JudgeOptions) { o.Concurrency = 1 })
			if s.Judged != 3 || s.Rung != tt.rung || c.n != tt.calls+2 || !slices.Equal(rows[0].RuleIDs, []string{"J-" + tt.rung}) {
				t.Errorf("%+v, %d calls, %v", s, c.n, rows[0].RuleIDs)
			}
			// What was found out is remembered.
			n := c.n
			s, _ = judgeTables(t, dir, openTables(4, strangeEvents), c, func(o *JudgeOptions) { o.Concurrency = 1 })
			if s.Judged != 4 || c.n != n+1 {
				t.Errorf("again: %+v, %d calls more", s, c.n-n)
			}
		})
	}
}

// TestJudgeSmallWindow: a packet that does not fit is made smaller.
func TestJudgeSmallWindow(t *testing.T) {
	events := func(i int) []logs.EventRow {
		var list []logs.EventRow
		for k := range 60 {
			list = append(list, logs.EventRow{Channel: logs.ChannelTool, Kind: logs.EventToolResult, Text: strings.Repeat(fmt.Sprintf("line %d of much output ", k), 100)})
		}
		return append(list, strangeEvents(i)...)
	}
	var c *scripted
	c = &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		if len(c.last.Messages[1].Content) > 8000 {
			return "", "", &CallFailure{Class: FailTooLong, Status: 400, Message: "exceed_context_size_error"}
		}
		return honest("infra.sandbox")(n, a)
	}}
	if s, _ := judgeTables(t, "", openTables(3, events), c, func(o *JudgeOptions) { o.Concurrency = 1 }); s.Judged != 3 || c.n > 6 {
		t.Errorf("%+v, %d calls", s, c.n)
	}
	// A window that is known is never filled.
	c = &scripted{t: t, answer: honest("infra.sandbox")}
	if s, _ := judgeTables(t, "", openTables(1, events), c, func(o *JudgeOptions) { o.Context, o.MaxOutput = 8192, 300 }); s.Judged != 1 || requestBytes(c.last)/3 > 8192*8/10 {
		t.Errorf("%+v, %d bytes", s, requestBytes(c.last))
	}
}

// TestJudgeStops: what no waiting helps ends the pass at once, and the same command goes on later.
func TestJudgeStops(t *testing.T) {
	for name, tt := range map[string]struct {
		fail  *CallFailure
		code  int
		most  int // calls
		waits int
	}{
		"quota":             {&CallFailure{Class: FailRateLimit, Status: 429, Message: "You exceeded your current quota, please check your plan and billing details"}, 4, 4, 0},
		"usage limit":       {&CallFailure{Class: FailRateLimit, Status: 429, Message: "usage limit reached for this week"}, 4, 4, 0},
		"key refused":       {&CallFailure{Class: FailAuth, Status: 401, Message: "no"}, 1, 4, 0},
		"no such model":     {&CallFailure{Class: FailNotFound, Status: 404, Message: "no"}, 1, 4, 0},
		"asks to wait long": {&CallFailure{Class: FailRateLimit, Status: 429, RetryAfter: time.Hour, Message: "later"}, 4, 4, 0},
		"HTML":              {&CallFailure{Class: FailUnavailable, Status: 200, Message: "the answer is no JSON: <html>"}, 4, 6 * (failuresInRow + 3), 10},
		"down":              {&CallFailure{Class: FailUnavailable, Message: "connection refused"}, 4, 6 * (failuresInRow + 3), 10},
		"too slow":          {&CallFailure{Class: FailTimeout, Message: "no answer within 1m30s"}, 4, 6 * (failuresInRow + 3), 10},
	} {
		t.Run(name, func(t *testing.T) {
			c := &scripted{t: t, answer: func(int, *asked) (string, string, error) { return "", "", tt.fail }}
			var waits atomic.Int64
			dir := t.TempDir()
			s, rows := judgeTables(t, dir, openTables(12, strangeEvents), c, func(o *JudgeOptions) {
				o.Sleep = func(_ context.Context, d time.Duration) error {
					if waits.Add(1); d > time.Minute {
						t.Errorf("waits %s", d)
					}
					return nil
				}
			})
			if s.Stop == nil || s.Stop.Code != tt.code || c.n > tt.most || int(waits.Load()) < tt.waits || len(rows) != 0 || s.Left != 12 || s.Judged != 0 {
				t.Errorf("%+v, stop %v, %d calls, %d waits, %d rows", s, s.Stop, c.n, waits.Load(), len(rows))
			}
			if len(s.Failures) == 0 || s.Stop != nil && s.Stop.Hint() == "" {
				t.Errorf("%+v", s)
			}
			c.answer = honest("infra.sandbox")
			if s, rows = judgeTables(t, dir, openTables(12, strangeEvents), c, nil); s.Stop != nil || s.Judged != 12 || len(rows) != 12 {
				t.Errorf("later: %+v", s)
			}
		})
	}
}

// TestJudgeRetryAfter: the endpoint's own waiting time wins.
func TestJudgeRetryAfter(t *testing.T) {
	c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		if n < 4 {
			return "", "", &CallFailure{Class: FailRateLimit, Status: 429, RetryAfter: 37 * time.Second, Message: "slow down"}
		}
		return honest("infra.sandbox")(n, a)
	}}
	var waits []time.Duration
	s, _ := judgeTables(t, "", openTables(1, strangeEvents), c, func(o *JudgeOptions) {
		o.Sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	})
	if s.Judged != 1 || !slices.Equal(waits, []time.Duration{37 * time.Second, 37 * time.Second, 37 * time.Second}) || s.Failures[FailRateLimit] != 3 {
		t.Errorf("%+v, waits %v", s, waits)
	}
}

// slow answers after a time, unless it is told to stop.
type slow struct {
	*scripted
	takes time.Duration
}

func (s *slow) CreateChatCompletion(ctx context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	select {
	case <-ctx.Done():
		return openai.ChatCompletionResponse{}, ctx.Err()
	case <-time.After(s.takes):
		return s.scripted.CreateChatCompletion(ctx, r)
	}
}

// TestJudgeSlow: an answer that comes late counts if it comes in time; else what it may cost is counted.
func TestJudgeSlow(t *testing.T) {
	c := &slow{&scripted{t: t, answer: honest("infra.sandbox")}, 60 * time.Millisecond}
	if s, _ := judgeTables(t, "", openTables(1, strangeEvents), c, nil); s.Judged != 1 || len(s.Failures) != 0 {
		t.Errorf("%+v", s)
	}
	c.takes = time.Minute
	s, rows := judgeTables(t, "", openTables(1, strangeEvents), c, func(o *JudgeOptions) { o.Timeout = 5 * time.Millisecond })
	if s.Stop == nil || s.Stop.Code != 4 || s.Failures[FailTimeout] != maxTries || s.Tokens < 1000*maxTries || len(rows) != 0 {
		t.Errorf("%+v, stop %v", s, s.Stop)
	}
}

// TestJudgeCeilings: a call that might pass a ceiling is not made; the rest is left, and can be asked later.
func TestJudgeCeilings(t *testing.T) {
	price := func(in, cached, out int64) *float64 { return ptr(float64(in+cached)*1e-6 + float64(out)*4e-6) }
	for name, ceilings := range map[string]Ceilings{"calls": {Calls: 3}, "tokens": {Tokens: 20000}, "usd": {USD: 0.02}} {
		t.Run(name, func(t *testing.T) {
			c := &scripted{t: t, answer: honest("infra.sandbox")}
			dir := t.TempDir()
			with := func(o *JudgeOptions) { o.Price, o.Ceilings = price, ceilings }
			s, rows := judgeTables(t, dir, openTables(12, strangeEvents), c, with)
			if s.Stop == nil || s.Stop.Code != 4 || !strings.Contains(s.Stop.Hint(), "--max-"+name) || s.Judged == 0 || s.Judged == 12 || s.Left+s.Judged != 12 {
				t.Errorf("%+v, stop %v", s, s.Stop)
			}
			if ceilings.Calls > 0 && c.n != 3 || ceilings.Tokens > 0 && s.Spent.Tokens > 20000 || ceilings.USD > 0 && s.Spent.USD > 0.02 {
				t.Errorf("%d calls, spent %+v", c.n, s.Spent)
			}
			if budget := slices.ContainsFunc(rows, func(v logs.VerdictRow) bool { return deref(v.AbstainReason) == ReasonBudget }); !budget {
				t.Error("what is left is not said to be left for the ceiling")
			}
			// The same command does not go on, since the ceiling is for all passes; a higher one does.
			n := c.n
			if s, _ = judgeTables(t, dir, openTables(12, strangeEvents), c, with); s.Stop == nil || ceilings.Calls > 0 && c.n != n {
				t.Errorf("again: %+v", s)
			}
			s, rows = judgeTables(t, dir, openTables(12, strangeEvents), c, nil)
			if s.Stop != nil || s.Judged != 12 || len(rows) != 12 || len(slices.Compact(slices.Sorted(slices.Values(c.paid)))) != len(c.paid) {
				t.Errorf("higher: %+v", s)
			}
		})
	}
}

// TestJudgeSchedules: whatever an endpoint does, in whatever order: no ceiling is passed, no answer is paid for twice,
// no row comes of anything but a good answer, and with enough passes everything is answered.
func TestJudgeSchedules(t *testing.T) {
	schedules := 12
	if os.Getenv("STINT_REQUIRE") != "" {
		schedules = 1000
	}
	for seed := range uint64(schedules) {
		schedule(t, seed)
	}
}

func schedule(t *testing.T, seed uint64) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var mu sync.Mutex
	draw := rand.New(rand.NewPCG(seed, 4))
	wild := true
	c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		mu.Lock()
		way := draw.IntN(14)
		if !wild {
			way = 13
		}
		mu.Unlock()
		good, stop, _ := honest("infra.sandbox")(n, a)
		switch way {
		case 0, 1:
			return "", "", &CallFailure{Class: FailRateLimit, Status: 429, RetryAfter: time.Duration(way) * time.Second, Message: "slow down"}
		case 2:
			return "", "", &CallFailure{Class: FailRateLimit, Status: 429, Message: "insufficient_quota"}
		case 3, 4:
			return "", "", &CallFailure{Class: FailUnavailable, Status: 500 + way, Message: "no"}
		case 5:
			return "", "", &CallFailure{Class: FailTimeout, Message: "hangs"}
		case 6:
			return "", "", &CallFailure{Class: FailCut, Status: 200, Message: "half an answer"}
		case 7:
			return good[:len(good)/2], "length", nil
		case 8:
			return good[:len(good)/2], stop, nil
		}
		return good, stop, nil
	}}
	tables := openTables(4, strangeEvents)
	calls := int64(3)
	for pass := 0; ; pass++ {
		if pass > 40 {
			t.Fatalf("seed %d: not answered after %d passes", seed, pass)
		}
		wild = pass < 6
		s, rows := judgeTables(t, dir, tables, c, func(o *JudgeOptions) {
			o.Ceilings = Ceilings{Calls: calls, Tokens: calls * 6000}
			o.AskAgain = true
		})
		if s.Spent.Calls > calls || s.Spent.Tokens > calls*6000 || int64(c.n) > calls {
			t.Fatalf("seed %d: a ceiling is passed: %+v, %d calls of %d", seed, s.Spent, c.n, calls)
		}
		for _, v := range rows {
			if v.Strength == logs.StrengthJudged && deref(v.Leaf) != "infra.sandbox" || v.Strength != logs.StrengthJudged && v.Strength != logs.StrengthAbstain {
				t.Fatalf("seed %d: %+v", seed, v)
			}
		}
		if s.Judged == 4 {
			break
		}
		calls += 4
	}
	if twice := len(c.paid) - len(slices.Compact(slices.Sorted(slices.Values(c.paid)))); twice > 0 {
		t.Fatalf("seed %d: %d answers are paid for twice", seed, twice)
	}
}

// TestJudgeInterrupted: an interrupt ends the pass within seconds, and loses nothing that was paid for.
func TestJudgeInterrupted(t *testing.T) {
	dir := t.TempDir()
	d, tables := &logs.RunDir{Root: dir}, openTables(8, strangeEvents)
	r, err := Run(context.Background(), d, tables, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("interrupted by a test")
	c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		if n == 3 {
			cancel(stop)
		}
		return honest("infra.sandbox")(n, a)
	}}
	began := time.Now()
	s, err := Judge(ctx, d, tables, r, JudgeOptions{Model: "scripted", Completer: c, Endpoint: "http://127.0.0.1/v1", Concurrency: 2})
	if !errors.Is(err, stop) || time.Since(began) > 5*time.Second || s.Left == 0 {
		t.Errorf("%v after %s, %+v", err, time.Since(began), s)
	}
	s, rows := judgeTables(t, dir, tables, c, nil)
	if s.Judged != 8 || len(rows) != 8 || c.n != 8 {
		t.Errorf("%+v, %d calls for 8 attempts", s, c.n)
	}
}

// TestLedgerTorn: a last line that was being written when stint was killed is cut off; a reply that was tampered with is
// asked for again.
func TestLedgerTorn(t *testing.T) {
	dir := t.TempDir()
	c := &scripted{t: t, answer: honest("infra.sandbox")}
	judgeTables(t, dir, openTables(2, strangeEvents), c, nil)
	for _, name := range []string{"judge/ledger.jsonl", "judge.jsonl"} {
		f, err := os.OpenFile(filepath.Join(dir, "verdicts", filepath.FromSlash(name)), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"type":"answer","annota`); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	s, rows := judgeTables(t, dir, openTables(3, strangeEvents), c, nil)
	if s.Judged != 3 || len(rows) != 3 || c.n != 3 {
		t.Errorf("%+v, %d calls", s, c.n)
	}
	if err := os.Remove(filepath.Join(dir, "verdicts", "judge.jsonl")); err != nil {
		t.Fatal(err)
	}
	replies, err := filepath.Glob(filepath.Join(dir, "verdicts", "judge", "replies", "*", "*.json"))
	if err != nil || len(replies) != 3 {
		t.Fatal(replies, err)
	}
	b, err := os.ReadFile(replies[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(replies[0], []byte(strings.Replace(string(b), "cause", "CAUSE", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, _ = judgeTables(t, dir, openTables(3, strangeEvents), c, nil); s.Judged != 3 || s.Reused != 2 || c.n != 4 {
		t.Errorf("%+v, %d calls", s, c.n)
	}
	// Nobody else may write at the same time.
	l, err := openLedger(JudgeDir(&logs.RunDir{Root: dir}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var busy *JudgeError
	if _, _, err := judgeTry(t, dir, openTables(3, strangeEvents), c, nil); !errors.As(err, &busy) || busy.Code != 2 {
		t.Errorf("a second judge: %v", err)
	}
}

// TestShownPacket: what is shown is what is sent.
func TestShownPacket(t *testing.T) {
	dir := t.TempDir()
	d, tables := &logs.RunDir{Root: dir}, openTables(1, strangeEvents)
	r, err := Run(context.Background(), d, tables, Options{})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := ShownPacket(d, tables, r, r.Verdicts[0].Key(), JudgeOptions{Model: "scripted"})
	if err != nil {
		t.Fatal(err)
	}
	c := &scripted{t: t, answer: honest("infra.sandbox")}
	judgeTables(t, dir, tables, c, nil)
	a, _ := json.Marshal(shown)
	b, _ := json.Marshal(c.last)
	if string(a) != string(b) {
		t.Errorf("shown:\n%s\nsent:\n%s", a, b)
	}
}
