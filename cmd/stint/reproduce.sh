# 0: the check passes here · 1: it fails as recorded · 2: it fails, but otherwise · 3: the script could not do its work
set -u
LC_ALL=C
export LC_ALL
if [ -z "${BASE:-}" ]; then
  echo "set BASE to where a freshly started server answers, for example BASE=http://127.0.0.1:8123" >&2
  exit 3
fi
BASE=${BASE%/}
for program in curl awk sed tr mktemp; do
  command -v "$program" >/dev/null 2>&1 || { echo "this script needs $program" >&2; exit 3; }
done
tmp=$(mktemp -d) || exit 3
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# send METHOD PATH [BODY] asks. The answer's status is then in $status (000: none came), its body in $tmp/body.
send() {
  asked="$1 $2${3:+ $3}"
  : >"$tmp/body"
  if [ $# -eq 3 ]; then
    status=$(printf '%s' "$3" | curl -q -sS --noproxy '*' -m 5 --max-filesize 1048576 -o "$tmp/body" -w '%{http_code}' -X "$1" \
      -H 'Content-Type: application/json' -H 'Accept: application/json' -H 'Expect:' --data-binary @- "$BASE$2" 2>"$tmp/error") || status=000
  else
    status=$(curl -q -sS --noproxy '*' -m 5 --max-filesize 1048576 -o "$tmp/body" -w '%{http_code}' -X "$1" \
      -H 'Accept: application/json' "$BASE$2" 2>"$tmp/error") || status=000
  fi
}

# rowid prints the integer "id" of the JSON object on stdin: every key on a line of its own, then the line of "id".
rowid() { tr -d '\r\n' | tr '{},' '\n\n\n' | sed -n 's/^[[:space:]]*"id"[[:space:]]*:[[:space:]]*\(-\{0,1\}[0-9][0-9]*\)\(\.0*\)\{0,1\}[[:space:]]*$/\1/p' | sed 1q; }

# have ID... says whether all rows were made.
have() { for row do [ -n "$row" ] || return 1; done; }

# right STATUS [MODE BODY] says whether the answer is as it must be. MODE is exact (no other keys), present (at least these) or
# subset (where null is expected the key may be missing); $why says what is wrong.
right() {
  wanted=$1
  if [ "$status" = 000 ]; then why="no answer"; return 1; fi
  if [ "$status" != "$1" ]; then why="status $status, expected $1"; return 1; fi
  if [ $# -eq 1 ]; then return 0; fi
  printf '%s' "$3" >"$tmp/want"
  why=$(awk -v mode="$2" -f "$tmp/compare.awk" "$tmp/want" "$tmp/body") || why="the bodies could not be compared"
  [ "$why" = same ]
}

# newid ID [BEFORE] says whether the answer gave an id, and one greater than that before.
newid() {
  if [ -z "$1" ]; then why='no integer "id" in the answer'; return 1; fi
  if [ $# -eq 2 ] && [ "$1" -le "$2" ]; then why="id $1 is not greater than $2"; return 1; fi
}

say() { printf '%s\n' "$1" | tr -c '\012\040-\176' '?'; }

# recorded STATUS ends the script after the request that failed in the study.
recorded() {
  if [ "$status" != "$1" ]; then otherwise; fi
  say "reproduced: $asked: $why"
  exit 1
}
otherwise() {
  say "fails, but not as recorded: $asked: $why"
  exit 2
}
unsent() {
  say "reproduced: $1 can not be sent: a row that it needs was not made"
  exit 1
}
cannot() {
  say "fails, but not as recorded: $1 can not be sent: a row that it needs was not made"
  exit 2
}

cat >"$tmp/compare.awk" <<'AWK'
# Reads two JSON texts and prints "same", or where the second is not as the first demands.
FILENAME == ARGV[1] { want = want $0 "\n"; next }
{ got = got $0 "\n" }
END {
  s = want; if (!document(W)) { print "the expectation is not JSON"; exit }
  s = got; if (!document(G)) { print "the body is not JSON"; exit }
  for (k in W) if (!(k in G)) {
    if (!(mode == "subset" && W[k] == "null")) worst(k, " is missing")
  } else if (!equal(W[k], G[k])) worst(k, " = " plain(G[k]) ", expected " plain(W[k]))
  if (mode == "exact") for (k in G) if (!(k in W)) worst(k, " is not expected")
  print (bad == "" ? "same" : bad)
}
# worst keeps the first difference in the order of the keys, so that it is the same in every awk.
function worst(k, text) { if (bad == "" || k < least) { least = k; bad = shown(k) text } }
function shown(k) { gsub(/\001/, ".", k); return k == "" ? "body" : substr(k, 2) }
function plain(v) { return v ~ /^#/ ? substr(v, 2) : v }
function equal(w, g) {
  if (w == g) return 1
  if (w !~ /^#/ || g !~ /^#/) return 0
  w = substr(w, 2); g = substr(g, 2)
  if (index(w, ".")) return w - g <= 0.005000001 && g - w <= 0.005000001
  return w + 0 == g + 0
}
function document(T) { p = 1; failed = 0; value(T, ""); blank(); return !failed && p > length(s) }
function blank() { while (index(" \t\r\n", substr(s, p, 1)) && p <= length(s)) p++ }
function value(T, path,   c, n, key) {
  blank()
  c = substr(s, p, 1)
  if (c == "{") {
    T[path] = "an object"; p++; blank()
    if (substr(s, p, 1) == "}") { p++; return }
    while (!failed) {
      blank()
      if (substr(s, p, 1) != "\"") { failed = 1; return }
      key = text(); blank()
      if (substr(s, p, 1) != ":") { failed = 1; return }
      p++; value(T, path "\001" key); blank()
      c = substr(s, p++, 1)
      if (c == "}") return
      if (c != ",") failed = 1
    }
  } else if (c == "[") {
    p++; blank(); n = 0
    if (substr(s, p, 1) == "]") { p++; T[path] = "a list of 0"; return }
    while (!failed) {
      value(T, path "\001" n++); blank()
      c = substr(s, p++, 1)
      if (c == "]") { T[path] = "a list of " n; return }
      if (c != ",") failed = 1
    }
  } else if (c == "\"") T[path] = "\"" text() "\""
  else if (match(substr(s, p, 400), /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/)) { T[path] = "#" substr(s, p, RLENGTH); p += RLENGTH }
  else if (substr(s, p, 4) == "true" || substr(s, p, 4) == "null") { T[path] = substr(s, p, 4); p += 4 }
  else if (substr(s, p, 5) == "false") { T[path] = "false"; p += 5 }
  else failed = 1
}
function text(   t, c, u, v) {
  for (p++; p <= length(s); ) {
    c = substr(s, p++, 1)
    if (c == "\"") return t
    if (c != "\\") { t = t c; continue }
    c = substr(s, p++, 1)
    if (c == "u") {
      u = hex()
      if (u >= 55296 && u < 56320 && substr(s, p, 2) == "\\u") {
        p += 2; v = hex()
        u = (v >= 56320 && v < 57344) ? 65536 + (u - 55296) * 1024 + v - 56320 : 65533
      }
      t = t utf8(u)
    } else if (c == "n") t = t "\n"
    else if (c == "t") t = t "\t"
    else if (c == "r") t = t "\r"
    else if (c == "b") t = t "\b"
    else if (c == "f") t = t "\f"
    else t = t c
  }
  failed = 1
}
function hex(   i, d, u) {
  for (i = 0; i < 4; i++) {
    d = index("0123456789abcdef", tolower(substr(s, p++, 1)))
    if (!d) failed = 1
    u = u * 16 + d - 1
  }
  return u
}
function utf8(u) {
  if (u < 1) return "\\0"
  if (u < 128) return sprintf("%c", u)
  if (u < 2048) return sprintf("%c%c", 192 + int(u / 64), 128 + u % 64)
  if (u >= 55296 && u < 57344) u = 65533
  if (u < 65536) return sprintf("%c%c%c", 224 + int(u / 4096), 128 + int(u / 64) % 64, 128 + u % 64)
  return sprintf("%c%c%c%c", 240 + int(u / 262144), 128 + int(u / 4096) % 64, 128 + int(u / 64) % 64, 128 + u % 64)
}
AWK
