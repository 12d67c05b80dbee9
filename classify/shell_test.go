package classify

import "testing"

func TestBroadKill(t *testing.T) {
	for text, broad := range map[string]bool{
		"pkill -f app.py": true, "killall node": true, "sudo pkill python": true, "kill -9 -1": true, "fuser -k 8080/tcp": true, "taskkill /F /IM python.exe": true,
		"cd /x && pkill java": true, "kill $(lsof -t -i:8080)": true, "lsof -ti:80 | xargs -r kill": true, "FOO=1 pkill x": true,
		"kill -9 `pgrep -f server`": true, "ps aux | grep '[s]erver.py' | awk '{print $2}' | xargs -r kill": true, "bash -lc 'sleep 1; pkill -9 node'": true,
		"timeout 5 pkill python": true, "if pgrep x; then pkill x; fi": true, "Stop-Process -Name node -Force": true, "killall5 -9": true, "npx kill-port 3000": true,
		"Get-Process node | Stop-Process": true, "(pkill node)": true, "busybox pkill sh": true, "pkill -u agent": true, "echo x\npkill node # stop it": true,

		"kill 1234": false, "kill -9 $PID": false, "echo pkill": false, "grep killall notes.txt": false, "kill -1 99": false, "fuser 8080/tcp": false, "pkill": false,
		"git commit -m 'stop the server; pkill node'": false, "cat > stop.sh <<'EOF'\npkill node\nEOF\nchmod +x stop.sh": false, "echo \"; pkill node\"": false,
		"# pkill node": false, "kill $(cat server.pid)": false, "kill %1": false, "pkill -P 4711": false, "xargs kill < pids": false, "man pkill": false,
		"kill $!": false, "trap 'kill $SERVER' EXIT": false, "printf 'a && pkill b'": false, "which pkill && echo yes": false, "pgrep -f node": false,
	} {
		if got := broadKill(text); (got != nil) != broad {
			t.Errorf("broadKill(%q) = %+v", text, got)
		}
	}
}

// A kill that is harmless does not hide the one after it.
func TestBroadKills(t *testing.T) {
	for text, want := range map[string]int{"kill $(cat server.pid); pkill -f node": 1, "pkill -f app.py; pkill node": 2, "kill %1; kill 77": 0, "pkill a && lsof -ti:80 | xargs kill": 2} {
		if got := broadKills(text); len(got) != want {
			t.Errorf("broadKills(%q): %d, want %d", text, len(got), want)
		}
	}
}

// TestKillDoes: what a kill hits depends on the program's processes and, with -f, on its command lines and the prompt there.
func TestKillDoes(t *testing.T) {
	book := Codebook()
	for _, tt := range []struct{ command, program, prompt, does string }{
		{"pkill node", "qwen-code", "", killHits},
		{"pkill node", "mini-swe", "", killCannot},
		{"pkill -f python", "mini-swe", "", killHits},
		{"pkill python", "codex", "Build it with python.", killCannot},
		{"pkill -f server.py", "codex", "Write server.py.", killCannot},  // the prompt comes by another way
		{"pkill -f server.py", "kimi-cli", "Write server.py.", killHits}, // it is among the arguments
		{"pkill -f server.py", "kimi-cli", "Write it in Python.", killCannot},
		{"pkill -f server.py", "kimi-cli", "", killMay},
		{"killall python3", "openhands", "", killHits},
		{"killall -9 nod", "qwen-code", "", killCannot},
		{"lsof -ti :8080 | xargs kill", "codex", "", killMay},
		{"pkill -f \"$NAME\"", "codex", "", killMay},
		{"pkill node", "", "", killMay},
		{"ps aux | grep claude | awk '{print $2}' | xargs kill", "claude-code", "", killHits},
		{"ps aux | grep app.py | awk '{print $2}' | xargs kill", "claude-code", "", killCannot},
		{"kill $(pgrep codex)", "codex", "", killHits},
	} {
		b := broadKill(tt.command)
		if b == nil {
			t.Errorf("%s is no broad kill", tt.command)
			continue
		}
		if got := b.does(book.program(tt.program), tt.prompt); got != tt.does {
			t.Errorf("%s with %s and %q %s, want %s", tt.command, tt.program, tt.prompt, got, tt.does)
		}
	}
}

func TestHangs(t *testing.T) {
	for text, want := range map[string]string{
		"./start.sh": hangServer, "python3 app.py": hangServer, "npm start": hangServer, "vim x": hangInteractive, "tail -f log": hangInteractive,
		"nohup python3 app.py": hangServer, "cd srv && PORT=3000 npm run dev": hangServer, "uvicorn app:app --port 8080": hangServer, "go run .": hangServer,
		"python3 -m http.server": hangServer, "bash ./start.sh": hangServer, "sleep infinity": hangInteractive, "sleep 600": hangInteractive, "python3": hangInteractive,
		"psql -h db": hangInteractive, "bash -c 'node server.js'": hangServer, "docker compose up": hangServer, "npm test; npm start": hangServer,
		"python3 app.py & sleep 1; curl localhost": hangPipe, "./start.sh &": hangPipe,

		"nohup python3 app.py > log 2>&1 &": "", "setsid ./start.sh > l 2>&1 < /dev/null &": "", "timeout 5 python3 app.py": "", "ls -la": "", "cat app.py": "",
		"python3 -m pytest -q": "", "python3 -c 'print(1)'": "", "python3 test_app.py": "", "python3 - <<'X'\nprint(1)\nX": "", "node --version": "", "npm install": "",
		"node -e 'x()'": "", "psql -c 'select 1'": "", "sqlite3 a.db 'select 1'": "", "echo 'python3 app.py'": "", "grep -rn 'npm start' .": "", "sleep 2": "", "tail log": "",
		"cat > run.sh <<E\n./start.sh\nE": "", "docker compose up -d": "", "go test ./...": "", "python3 -m pip install flask": "", "less": hangInteractive, "deno test": "",
	} {
		if got := hangs(text); got != want {
			t.Errorf("hangs(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzCommands(f *testing.F) {
	f.Add("a && b | c > d & (e; f) `g $(h)` \"i $(j\" 'k <<L\nL\n")
	f.Add("bash -c 'bash -c \"bash -c x\"'")
	f.Fuzz(func(t *testing.T, s string) {
		broadKill(s)
		hangs(s)
		if n := len(commands(s)); n > 16*maxCommands {
			t.Errorf("%d commands", n)
		}
	})
}
