"""Compares `stint ingest` with DuckDB and polars. Called by run; see there.

Everybody reads the same JSON Lines and writes one row per part of a message: type, time, session, kind of part, message,
stop reason, call, tool, whether it failed, four counts of tokens, and of the text
  places  its first 256 bytes, its length and its SHA-256 (polars: by the plugin polars-hash). stint hashes the whole line
          and adds file and offset, which the others cannot know.
  text    the whole text, its length and the same hash.
stint writes one row more per answer of the model and checks every line for keys that come twice. All compress with zstd,
each at its own default level (stint: the fastest), and use all cores. DuckDB and polars are told the types, which is
quicker than letting them guess; their clocks leave out starting Python, stint's is the whole process.
"polars-" is polars with its own 64-bit hash in the place of SHA-256: less work than the others have.
"""
import os, resource, subprocess, sys, time

LINE = """{type: 'VARCHAR', timestamp: 'TIMESTAMP', sessionId: 'VARCHAR', message: 'STRUCT(id VARCHAR, stop_reason VARCHAR,
  content STRUCT(type VARCHAR, text VARCHAR, id VARCHAR, name VARCHAR, input JSON, tool_use_id VARCHAR, content VARCHAR, is_error BOOLEAN)[],
  usage STRUCT(input_tokens BIGINT, cache_creation_input_tokens BIGINT, cache_read_input_tokens BIGINT, output_tokens BIGINT))'}"""


def duckdb(mode, log, out):
    import duckdb

    con = duckdb.connect()
    text = "coalesce(p.text, p.content, p.input::VARCHAR)"
    kept = f"left({text}, 256)" if mode == "places" else text
    query = f"""COPY (SELECT type, timestamp, sessionId, p.type AS kind, message.id AS message, message.stop_reason AS stop_reason,
      coalesce(p.id, p.tool_use_id) AS call_id, p.name AS tool, p.is_error AS is_error, message.usage.input_tokens AS input,
      message.usage.cache_creation_input_tokens AS cache_write, message.usage.cache_read_input_tokens AS cached,
      message.usage.output_tokens AS output, {kept} AS text, strlen({text}) AS length, sha256({text}) AS sha256
      FROM (SELECT *, unnest(message.content) AS p FROM read_json('{log}', format = 'newline_delimited', columns = {LINE})))
      TO '{out}' (FORMAT parquet, COMPRESSION zstd)"""
    return lambda: con.execute(query)


def polars(mode, log, out, sha=True):
    import polars as pl
    import polars_hash  # adds chash

    s, i = pl.String, pl.Int64
    part = pl.Struct({"type": s, "text": s, "id": s, "name": s, "input": pl.Struct({"command": s, "timeout": i}), "tool_use_id": s, "content": s, "is_error": pl.Boolean})
    usage = pl.Struct({"input_tokens": i, "cache_creation_input_tokens": i, "cache_read_input_tokens": i, "output_tokens": i})
    schema = {"type": s, "timestamp": s, "sessionId": s, "message": pl.Struct({"id": s, "stop_reason": s, "content": pl.List(part), "usage": usage})}
    p, m = pl.col("part").struct, pl.col("message").struct
    arguments = pl.when(p.field("type") == "tool_use").then(p.field("input").struct.json_encode())
    text = pl.coalesce(p.field("text"), p.field("content"), arguments)
    u = m.field("usage").struct
    frame = (
        pl.scan_ndjson(log, schema=schema)
        .with_columns(part=m.field("content"))
        .explode("part")
        .select(
            "type", pl.col("timestamp").str.to_datetime(format="%Y-%m-%dT%H:%M:%S%.3fZ", time_unit="ms"), "sessionId", p.field("type").alias("kind"), m.field("id").alias("message"), m.field("stop_reason"),
            pl.coalesce(p.field("id"), p.field("tool_use_id")).alias("call_id"), p.field("name").alias("tool"), p.field("is_error"),
            u.field("input_tokens"), u.field("cache_creation_input_tokens"), u.field("cache_read_input_tokens"), u.field("output_tokens"),
            (text.str.head(256) if mode == "places" else text).alias("text"), text.str.len_bytes().alias("length"), (text.chash.sha2_256() if sha else text.hash()).alias("hash"),
        )
    )
    return lambda: frame.sink_parquet(out, compression="zstd")


def one(who, mode, log, out):
    work = duckdb(mode, log, out) if who == "duckdb" else polars(mode, log, out, sha=who == "polars")
    start, cpu = time.monotonic(), time.process_time()
    work()
    print(time.monotonic() - start, time.process_time() - cpu)


def measure(who, mode, dir):
    """Wall and CPU seconds, peak memory in MB, MB written."""
    log, out = f"{dir}/log.jsonl", f"{dir}/out"
    subprocess.run(["rm", "-rf", out], check=True)
    if who == "stint":
        args = [f"{dir}/stint", "ingest", log, "-o", out, "-q"] + (["--text"] if mode == "text" else [])
    else:
        os.mkdir(out)
        args = [sys.executable, __file__, "one", who, mode, log, out + "/events.parquet"]
    start = time.monotonic()
    p = subprocess.Popen(args, stdout=subprocess.PIPE)
    said = p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    wall, cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
    if status != 0:
        sys.exit(f"{args}: status {status}")
    if who != "stint":
        wall, cpu = map(float, said.split())
    return wall, cpu, used.ru_maxrss / 1000, os.path.getsize(out + "/events.parquet") / 1e6


def compare(dir, rounds):
    import duckdb as d, polars as p

    size = os.path.getsize(f"{dir}/log.jsonl")
    print(f"DuckDB {d.__version__} ({os.cpu_count()} threads, default row groups), polars {p.__version__} (streaming sink), log of {size / 1e6:.0f} MB, best of {rounds} rounds, in turns")
    for mode, title in (("places", "text as file, offset, length, hash and 256 bytes (default)"), ("text", "with --text: the whole text, zstd")):
        best = {}
        for _ in range(rounds):
            for who in ("stint", "duckdb", "polars", "polars-"):
                got = measure(who, mode, dir)
                old = best.get(who, got)
                best[who] = (min(old[0], got[0]), min(old[1], got[1]), max(old[2], got[2]), got[3])
        print(f"\n{title}\n{'':8}{'wall s':>8}{'MB/s':>8}{'CPU s':>8}{'peak MB':>9}{'file MB':>9}{'wall, stint = 1':>17}{'CPU':>7}")
        for who, (wall, cpu, peak, out) in best.items():
            print(f"{who:8}{wall:8.2f}{size / 1e6 / wall:8.0f}{cpu:8.2f}{peak:9.0f}{out:9.0f}{wall / best['stint'][0]:17.2f}{cpu / best['stint'][1]:7.2f}")


def memory(dir):
    size = os.path.getsize(f"{dir}/log.jsonl") / 1e6
    for mode in ("places", "text"):
        wall, _, peak, _ = measure("stint", mode, dir)
        print(f"{size:6.0f} MB {'--text' if mode == 'text' else 'default':8} peak {peak:4.0f} MB  {size / wall:5.0f} MB/s")


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(*sys.argv[2:])
    elif sys.argv[1] == "compare":
        compare(sys.argv[2], int(sys.argv[3]))
    else:
        memory(sys.argv[2])
