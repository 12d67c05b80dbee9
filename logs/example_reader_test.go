package logs_test

import (
	"fmt"
	"log"

	"github.com/stint-bench/stint/logs"
)

// Any log is read the same way: here a session of Codex, whose format shows its content.
func ExampleOpen() {
	r, err := logs.Open(logs.ReaderOptions{}, "testdata/program/codex-two-turns.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	calls := 0
	for r.Next() {
		switch rec := r.Record(); {
		case rec.Event != nil && rec.Event.Kind == logs.EventToolCall:
			if calls++; calls == 1 {
				fmt.Printf("%s calls %s at byte %d\n", rec.Event.Actor, *rec.Event.Tool, rec.Event.Offset)
			}
		case rec.Attempt != nil:
			fmt.Printf("turn %d: %d tokens in, %d of them not from a cache\n", rec.Attempt.Turn, *rec.Attempt.Input+*rec.Attempt.Cached, *rec.Attempt.Input)
		case rec.Problem != nil:
			fmt.Println("not read:", rec.Problem)
		}
	}
	if err := r.Err(); err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Files() {
		fmt.Printf("%s: %s, %d records, %d calls\n", f.Path, f.Format, f.Records, calls)
	}
	// Output:
	// model calls exec_command at byte 7636
	// turn 0: 33859 tokens in, 33559 of them not from a cache
	// turn 1: 23276 tokens in, 23076 of them not from a cache
	// testdata/program/codex-two-turns.jsonl: codex, 45 records, 3 calls
}
