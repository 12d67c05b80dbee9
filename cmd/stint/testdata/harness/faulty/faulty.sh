# Programs that go wrong: the argument says how.
PROMPT=$(cat)
export PROMPT
ask() { # one request with the key $1; prints the answer's status
	python3 -c 'import json, os, sys, urllib.error, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": os.environ["PROMPT"]}], "tools": [{"type": "function",
    "function": {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}]}).encode()
head = {"Content-Type": "application/json", "Authorization": "Bearer " + sys.argv[2]}
try:
    print(urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/chat/completions", body, head)).status)
except urllib.error.HTTPError as e:
    print(e.code)' "$BASE_URL" "$1"
}
case $1 in
--version) echo faulty 1.0.0 ;;
nothing) exit 0 ;;
crash) echo "cannot read my settings" >&2; exit 3 ;;
hang) sleep 1000 ;;
deaf) trap '' TERM INT; while :; do sleep 1; done ;;
loud) ask "$API_KEY"; head -c 1000000000 /dev/zero | tr '\0' 'x'; echo; echo done ;;
daemons) ask "$API_KEY"; for i in 1 2 3; do setsid sleep 1000 >/dev/null 2>&1 & done; setsid sleep 1000 & sleep 0.2; echo done ;;
disk) ask "$API_KEY"; i=0; while :; do head -c 10000000 /dev/urandom >"$HOME/$i"; i=$((i + 1)); sleep 0.1; done ;;
memory) ask "$API_KEY"; for i in 1 2 3 4; do python3 -c 'import time
x = [bytearray(20_000_000) for i in range(10)]
time.sleep(100)' & done; wait; echo done ;;
forks) ask "$API_KEY"; while :; do sleep 1000 & done ;;
kill) ask "$API_KEY"; (kill -9 -1); sleep 10 ;;
wrong-key) ask sk-not-mine; exit 1 ;;
quiet) ask "$API_KEY"; exit 0 ;; # asked, and says nothing of its end
spends) while :; do ask "$API_KEY"; done ;;
again) while [ "$(ask "$API_KEY")" != 200 ]; do sleep 0.2; done; echo done ;;
*) ask "$API_KEY"; echo done ;;
esac
