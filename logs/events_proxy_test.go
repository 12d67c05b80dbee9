package logs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proxiedLogs are what the gateway records of one agent outside stint, in each protocol: a conversation that goes
// on from an earlier attempt, two calls and their results, one of them repeated in the next request.
var proxiedLogs = map[string]string{
	"chat": `{"seq":0,"kind":"request","protocol":"chat","bytes":10,"messages":5,"same":0,"new":[{"role":"system","content":"You are."},{"role":"user","content":"Build it."},{"role":"assistant","tool_calls":[{"id":"old","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"old","content":"old result"},{"role":"user","content":[{"type":"text","text":"Change it."}]}]}
{"seq":1,"kind":"answer","protocol":"chat","stream":true,"status":200,"body":{"choices":[{"message":{"content":"I look.","tool_calls":[{"id":"a","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"b","function":{"name":"read","arguments":"{\"path"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":5}}}}
{"seq":2,"kind":"malformed_call","tool":"read","call_id":"b","reason":"unexpected end of JSON input"}
{"seq":3,"kind":"request","protocol":"chat","bytes":20,"messages":8,"base":0,"same":5,"new":[{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"f.txt"}]},{"role":"tool","tool_call_id":"b","content":"no such file"}]}
{"seq":4,"kind":"error","class":"cut_stream","status":200,"message":"the answer broke off","protocol":"chat","body":{}}
{"seq":5,"kind":"request","protocol":"chat","bytes":20,"messages":8,"base":0,"same":5,"new":[{"role":"tool","tool_call_id":"a","content":"f.txt"}]}
{"seq":6,"kind":"refused","status":404,"path":"/v1/embeddings"}
`,
	"responses": `{"seq":0,"kind":"request","protocol":"responses","bytes":10,"messages":4,"same":0,"new":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"You are."}]},{"type":"function_call","call_id":"old","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"old","output":"old result"},{"type":"message","role":"user","content":[{"type":"input_text","text":"Change it."}]}]}
{"seq":1,"kind":"answer","protocol":"responses","status":200,"body":{"status":"completed","output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"a","name":"bash","arguments":"{\"command\":\"ls\"}"},{"type":"custom_tool_call","call_id":"b","name":"read","input":"{\"path"}],"usage":{"input_tokens":100,"output_tokens":20,"input_tokens_details":{"cached_tokens":60},"output_tokens_details":{"reasoning_tokens":5}}}}
{"seq":2,"kind":"malformed_call","tool":"read","call_id":"b","reason":"unexpected end of JSON input"}
{"seq":3,"kind":"request","protocol":"responses","bytes":20,"messages":8,"base":0,"same":4,"new":[{"type":"reasoning"},{"type":"function_call","call_id":"a"},{"type":"custom_tool_call","call_id":"b"},{"type":"function_call_output","call_id":"a","output":"f.txt"},{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"no such file"}]}]}
{"seq":4,"kind":"error","class":"cut_stream","status":200,"message":"the answer broke off","protocol":"responses","body":{}}
{"seq":5,"kind":"request","protocol":"responses","bytes":20,"messages":8,"base":0,"same":5,"new":[{"type":"function_call_output","call_id":"a","output":"f.txt"}]}
{"seq":6,"kind":"refused","status":404,"path":"/v1/embeddings"}
`,
	"anthropic": `{"seq":0,"kind":"request","protocol":"anthropic","bytes":10,"messages":3,"same":0,"new":[{"role":"user","content":"Build it."},{"role":"assistant","content":[{"type":"tool_use","id":"old","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"old","content":"old result"},{"type":"text","text":"Change it."}]}]}
{"seq":1,"kind":"answer","protocol":"anthropic","status":200,"body":{"stop_reason":"tool_use","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"bash","input":{"command":"ls"}},{"type":"tool_use","id":"b","name":"read","input":"{\"path"}],"usage":{"input_tokens":40,"cache_read_input_tokens":60,"cache_creation_input_tokens":0,"output_tokens":20}}}
{"seq":2,"kind":"malformed_call","tool":"read","call_id":"b","reason":"unexpected end of JSON input"}
{"seq":3,"kind":"request","protocol":"anthropic","bytes":20,"messages":5,"base":0,"same":3,"new":[{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"f.txt"}]},{"type":"tool_result","tool_use_id":"b","content":"no such file","is_error":true}]}]}
{"seq":4,"kind":"error","class":"cut_stream","status":200,"message":"the answer broke off","protocol":"anthropic","body":{}}
{"seq":5,"kind":"request","protocol":"anthropic","bytes":20,"messages":8,"base":0,"same":5,"new":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"f.txt"}]}]}
{"seq":6,"kind":"refused","status":404,"path":"/v1/embeddings"}
`,
}

const proxiedWant = `gateway model_request harness/harness "messages=N new=N bytes=10"
gateway message harness/prompt "Change it."
gateway model_answer provider/provider "FINISH" http=200 in=40 out=20
gateway message model/model "I look."
gateway tool_call model/model bash a "{\"command\":\"ls\"}"
gateway tool_call model/model read b "{\"path"
gateway rejected_call harness/harness read b "malformed_call: unexpected end of JSON input"
gateway model_request harness/harness "messages=N new=N bytes=20"
gateway tool_result tool/tool bash a "f.txt"
gateway tool_result tool/tool read b "no such file"
gateway error provider/provider "cut_stream: the answer broke off" http=200
gateway model_request harness/harness "messages=N new=N bytes=20"
gateway notice harness/other "refused" http=404
`

func TestProxiedEvents(t *testing.T) {
	for protocol, log := range proxiedLogs {
		t.Run(protocol, func(t *testing.T) {
			d, p := logged(t, gatewayReader, log)
			p.j.Close()
			tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			var got strings.Builder
			for _, e := range tables.Events {
				line := e.line()
				line = line[strings.IndexByte(line, ' ')+1:]
				switch {
				case e.Via != ViaGateway:
					continue
				case e.Kind == EventModelRequest:
					line = line[:strings.Index(line, "messages=")] + "messages=N new=N" + line[strings.Index(line, " bytes="):]
				case e.Kind == EventModelAnswer:
					for _, finish := range []string{"tool_calls", "completed", "tool_use"} {
						line = strings.Replace(line, "finish_reason="+finish+`"`, `FINISH"`, 1)
					}
					if *e.Cached != 60 || protocol != "anthropic" && *e.Reasoning != 5 {
						t.Errorf("cached %v reasoning %v", e.Cached, e.Reasoning)
					}
				case strings.HasPrefix(e.Text, "tool_end: failed") && protocol == "anthropic":
					continue // only this protocol says so
				}
				got.WriteString(line + "\n")
			}
			if diff := cmp.Diff(proxiedWant, got.String()); diff != "" {
				t.Errorf("−want +got\n%s", diff)
			}
			checkPlaces(t, d, tables.Events)
		})
	}
}
