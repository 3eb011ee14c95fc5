"""`rolecall fix` on the 40 programs of QuixBugs, beside the same model asked once, plainly.

    python benchmarks/studies/repair/quixbugs.py run CLONE RESULTS PYTHON --way rolecall|plain [--only NAME,NAME]
    python benchmarks/studies/repair/quixbugs.py show RESULTS...

CLONE is a clone of jkoppel/QuixBugs. The model is the one that ROLECALL_MODEL and ROLECALL_BASE_URL name; PYTHON, of a
virtual environment with pytest, runs the tests. Each program gets a git repository of its own: the faulty program, its
tests, their data; never the right version. The plain way is one prompt that holds the program, its tests and what
pytest says of them, and asks for the whole file. A program is fixed where all its tests, as the clone has them, pass.

A line for each program is added to RESULTS; what stands there already is not run again. Calls and tokens are counted
on the way to the endpoint, alike for both.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rich.table import Table

from rolecall_server.cli.screen import wide_screen

REPLY_S = 3600
"""A model that thinks may take long."""
TEST_S = 30
"""Some programs run forever: then the tests are stopped."""
PLAIN_S, JUDGE_S = 90, 300
"""The same where pytest begins anew each time, which takes long on a busy machine."""
MOST_SAID = 3_000
"""Characters of pytest's output in the plain prompt: the first third from its beginning."""
SUPPORT = ("conftest.py", "python_programs/node.py", "python_testcases/load_testdata.py", "python_testcases/node.py")
PLAIN = """\
The program {path} has a fault: its tests fail. Correct the program, and leave the tests as they are.

{path}:

```python
{program}
```

{test}:

```python
{tests}
```

pytest says:

```
{said}
```

Answer with the whole corrected file {path} in one fenced block of Python.
"""
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_USAGE = re.compile(r'"usage": ?\{[^{}]*\}')


@dataclass
class Meter:
    """The traffic of one program on its way to the endpoint."""

    n_calls: int = 0
    sent: int = 0
    received: int = 0
    """Tokens, as the endpoint counts them."""
    waited_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, reply: str, seconds: float) -> None:
        """Count one call that took *seconds*."""
        found = _USAGE.findall(reply)
        used = json.loads("{" + found[-1] + "}")["usage"] if found else {}
        with self.lock:
            self.n_calls += 1
            self.sent += used.get("prompt_tokens", 0)
            self.received += used.get("completion_tokens", 0)
            self.waited_s += seconds


@dataclass(frozen=True)
class Result:
    """One program, one way."""

    program: str
    way: str
    fixed: bool
    tests_kept: bool
    n_calls: int
    sent: int
    received: int
    own_s: float
    """Seconds without those that the model took."""
    said: str
    """The last line that was told."""

    @property
    def tokens(self) -> int:
        """Both directions together."""
        return self.sent + self.received


@contextmanager
def metered(endpoint: str) -> Iterator[tuple[str, Meter]]:
    """Yield an address on this machine that passes everything on to *endpoint*, and what passed."""
    meter = Meter()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is inherited
            """Say nothing."""

        def do_GET(self) -> None:
            self._pass_on(None)

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _pass_on(self, body: bytes | None) -> None:
            kept = {name: value for name, value in self.headers.items() if name in ("Authorization", "Content-Type")}
            address = endpoint + self.path.removeprefix("/v1")
            start = time.perf_counter()
            try:
                with urllib.request.urlopen(urllib.request.Request(address, body, kept), timeout=REPLY_S) as reply:
                    status, kind, told = reply.status, reply.headers["Content-Type"], reply.read()
            except urllib.error.HTTPError as error:
                status, kind, told = error.code, error.headers["Content-Type"], error.read()
            if body is not None and status == 200:
                meter.add(told.decode(), time.perf_counter() - start)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", meter
    finally:
        server.shutdown()
        server.server_close()


def programs_in(clone: Path) -> list[str]:
    """Return the names of the programs: those that have tests for pytest."""
    tests = sorted((clone / "python_testcases").glob("test_*.py"))
    return [test.stem.removeprefix("test_") for test in tests]


def lay_out(clone: Path, name: str, root: Path) -> Path:
    """Make a git repository at *root* of one faulty program with its tests, and return *root*."""
    own = [f"python_programs/{name}.py", f"python_testcases/test_{name}.py", f"json_testcases/{name}.json"]
    for path in (*SUPPORT, *own):
        if (clone / path).exists():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(clone / path, root / path)
    identity = ["-c", "user.name=study", "-c", "user.email=study@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", f"Add {name} and its tests"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def pytest_on(python: Path, root: Path, name: str, limit_s: float) -> tuple[int | None, str]:
    """Run the tests of a program; return the exit code, ``None`` where they did not end, and what pytest printed."""
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-o", f"faulthandler_timeout={limit_s / 2}"]
    command = [python, "-m", "pytest", *options, f"python_testcases/test_{name}.py"]
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+") as told:
        try:
            ended = subprocess.run(
                command, cwd=root, env=environment, stdout=told, stderr=subprocess.STDOUT, timeout=limit_s, check=False
            )
            code = ended.returncode
        except subprocess.TimeoutExpired:
            code = None
        told.seek(0)
        return code, told.read()


def judge(python: Path, clone: Path, name: str, root: Path, scratch: Path) -> int | None:
    """Return how pytest ends for the program that stands in *root*, with its tests as the clone has them."""
    judged = lay_out(clone, name, scratch)
    shutil.copyfile(root / f"python_programs/{name}.py", judged / f"python_programs/{name}.py")
    return pytest_on(python, judged, name, JUDGE_S)[0]


def fix_with_rolecall(python: Path, root: Path, name: str, address: str) -> str:
    """Run `rolecall fix` on the tests of a program; return the last line it prints."""
    data = root.with_name(f"{root.name}-data")
    settings = {"tests.timeoutSeconds": TEST_S, "model.timeoutSeconds": REPLY_S, "budget.secondsPerRun": 0}
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-I", "-m", "rolecall_server", "fix", f"python_testcases/test_{name}.py", "--yes"]
    known = {"ROLECALL_BASE_URL": address, "XDG_DATA_HOME": str(data), "VIRTUAL_ENV": str(python.parents[1])}
    environment = {"OPENAI_API_KEY": "none", **os.environ, **known}
    ended = subprocess.run([*command, *chosen], cwd=root, env=environment, capture_output=True, text=True, check=False)
    (root.with_name(f"{root.name}.log")).write_text(ended.stdout + ended.stderr, "utf-8")
    lines = (ended.stdout.strip() or ended.stderr.strip()).splitlines()
    return f"exit {ended.returncode}: {lines[-1] if lines else ''}"


def ask_once(messages: Sequence[Mapping[str, str]], address: str) -> str:
    """Return what the model replies to *messages*."""
    body = {"model": os.environ.get("ROLECALL_MODEL", ""), "messages": messages}
    key = os.environ.get("OPENAI_API_KEY", "none")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=REPLY_S) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def fix_plainly(python: Path, root: Path, name: str, address: str) -> str:
    """Ask once for the corrected program, and write what comes; return what is wrong with the reply, if so."""
    path, test = f"python_programs/{name}.py", f"python_testcases/test_{name}.py"
    code, said = pytest_on(python, root, name, PLAIN_S)
    if code is None:
        said += f"\n[the tests did not end within {PLAIN_S} s and were stopped]"
    if len(said) > MOST_SAID:
        said = f"{said[: MOST_SAID // 3]}\n[...]\n{said[-(2 * MOST_SAID // 3) :]}"
    program, tests = ((root / each).read_text("utf-8").strip("\n") for each in (path, test))
    prompt = PLAIN.format(path=path, test=test, program=program, tests=tests, said=said.strip())
    text = ask_once([{"role": "user", "content": prompt}], address)
    (root.with_name(f"{root.name}.log")).write_text(f"{prompt}\n{'=' * 80}\n{text}", "utf-8")
    blocks = _BLOCK.findall(text)
    if not blocks:
        return "no fenced block"
    (root / path).write_text(max(blocks, key=len), "utf-8")
    return ""


WAYS: dict[str, Callable[[Path, Path, str, str], str]] = {"rolecall": fix_with_rolecall, "plain": fix_plainly}


def run_one(python: Path, clone: Path, name: str, way: str, scratch: Path) -> Result:
    """Have one program fixed in one way, and judge it."""
    root = lay_out(clone, name, scratch / name)
    start = time.perf_counter()
    with metered(os.environ["ROLECALL_BASE_URL"].rstrip("/")) as (address, meter):
        said = WAYS[way](python, root, name, address)
    own_s = time.perf_counter() - start - meter.waited_s
    status = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)
    changed = {line[3:] for line in status.stdout.splitlines() if "__pycache__" not in line}
    kept = changed <= {f"python_programs/{name}.py"}
    code = judge(python, clone, name, root, scratch / f"{name}-judged")
    if code is None:
        said = f"the judge stopped its tests; {said}"
    return Result(name, way, code == 0, kept, meter.n_calls, meter.sent, meter.received, round(own_s, 1), said)


def run(given: argparse.Namespace) -> None:
    """Run what RESULTS does not hold yet."""
    results: Path = given.results
    done = {one.program for one in read(results)} if results.exists() else set[str]()
    wanted = given.only.split(",") if given.only else programs_in(given.clone)
    scratch = Path(given.keep or tempfile.mkdtemp(prefix="rolecall-quixbugs-")).absolute()
    with ThreadPoolExecutor(given.at_once) as pool:
        due = [name for name in wanted if name not in done]
        for one in pool.map(lambda name: run_one(given.python.absolute(), given.clone, name, given.way, scratch), due):
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(one)) + "\n")
            print(f"{one.program}: {'fixed' if one.fixed else 'NOT FIXED'}, {one.tokens:,} tokens", flush=True)
    if not given.keep:
        shutil.rmtree(scratch)


def read(results: Path) -> list[Result]:
    """Return the results in a file."""
    return [Result(**json.loads(line)) for line in results.read_text("utf-8").splitlines()]


def show(files: Sequence[Path]) -> None:
    """Print a line for each program and way, then the sums of the programs that all ways have."""
    rows = [one for file in files for one in read(file)]
    by_way = {way: {one.program: one for one in rows if one.way == way} for way in WAYS}
    table = Table("program", "way", "fixed", "tests kept", "calls", "sent", "received", "own seconds", "said")
    for one in sorted(rows, key=lambda row: (row.program, row.way)):
        yes = ["yes" if held else "NO" for held in (one.fixed, one.tests_kept)]
        numbers = map(str, (one.n_calls, one.sent, one.received, one.own_s))
        table.add_row(one.program, one.way, *yes, *numbers, one.said)
    wide_screen().print(table)
    shared = set.intersection(*(set(known) for known in by_way.values() if known))
    for way, known in by_way.items():
        if chosen := [one for name, one in known.items() if name in shared]:
            print(
                f"{way}: {sum(one.fixed for one in chosen)} of {len(chosen)} fixed, "
                f"{sum(not one.tests_kept for one in chosen)} with other files changed, "
                f"{sum(one.n_calls for one in chosen)} calls, {sum(one.tokens for one in chosen):,} tokens "
                f"({sum(one.sent for one in chosen):,} sent), {sum(one.own_s for one in chosen):.0f} s of its own"
            )


def main() -> None:
    """Run, or show."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = arguments.add_subparsers(dest="command", required=True)
    runs, shows = commands.add_parser("run"), commands.add_parser("show")
    runs.add_argument("clone", type=Path)
    runs.add_argument("results", type=Path)
    runs.add_argument("python", type=Path)
    runs.add_argument("--way", choices=[*WAYS], required=True)
    runs.add_argument("--only", default="", help="names of programs, with commas")
    runs.add_argument("--at-once", type=int, default=2)
    runs.add_argument("--keep", default="", help="a folder for the repositories and logs, which are else removed")
    shows.add_argument("results", type=Path, nargs="+")
    given = arguments.parse_args()
    if given.command == "run":
        run(given)
    else:
        show(given.results)


if __name__ == "__main__":
    main()
