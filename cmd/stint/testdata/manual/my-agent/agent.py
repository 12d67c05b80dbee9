"""An agent in sixty lines: it runs what the model asks for and keeps the conversation in a file."""
import argparse, json, os, subprocess, sys, urllib.error, urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--version", action="version", version="my-agent 1.0.0")
parser.add_argument("--model")
parser.add_argument("--session")
parser.add_argument("--log")
parser.add_argument("--continue", dest="go_on", action="store_true")
args = parser.parse_args()

TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Run a command",
          "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}}]


def ask(messages):
    body = json.dumps({"model": args.model, "messages": messages, "tools": TOOLS}).encode()
    request = urllib.request.Request(os.environ["BASE_URL"] + "/chat/completions", body,
                                     {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["API_KEY"]})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]


def run(call):
    try:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
        return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"
    except Exception as fault:
        return f"not run: {fault}"


def end(how):
    with open(args.log, "w") as f:
        json.dump({"end": how}, f)
    with open(args.session, "w") as f:
        f.writelines(json.dumps(m) + "\n" for m in messages)


messages = [json.loads(line) for line in open(args.session)] if args.go_on and os.path.exists(args.session) else []
messages.append({"role": "user", "content": sys.stdin.read()})
while True:
    try:
        answer = ask(messages)
    except urllib.error.HTTPError as fault:
        end(f"HTTP {fault.code}")
        sys.exit(f"the model answers with HTTP {fault.code}")
    messages.append({k: v for k, v in answer.items() if k in ("role", "content", "tool_calls")})
    calls = answer.get("tool_calls") or []
    if not calls:
        end("done")
        print(answer.get("content") or "")
        break
    messages += [{"role": "tool", "tool_call_id": c["id"], "content": run(c)} for c in calls]
