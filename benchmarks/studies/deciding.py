"""Measure a decision about one hunk of 200 as an editor that draws hunks sees it, over the server's own pipes.

    python benchmarks/studies/deciding.py

For each decision: how long until the editor is told that the review is another, until it has read what waits, and the
side of that file; in milliseconds, and as CPU time of the server. The anchor is a request that is only refused, in the
same process.
"""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from rolecall_analysis import Index
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import Evidence, Tally
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import save_proposal
from rolecall_server.store import open_store
from rolecall_server.workspace import Workspace

N_FILES, N_IN_FILE, N_DECIDED = 40, 5, 20
RECORDED = Path(__file__).parents[2] / "tests/server/lsp/capabilities/clients/vscode_languageclient_v11.0.0.json"
CHANGED = "rolecall/review/changed"
Times = dict[str, list[float]]


class Client:
    """The editor's end of the pipes."""

    def __init__(self, root: Path, home: Path) -> None:
        environ = {"HOME": str(home), "XDG_DATA_HOME": str(home), "PATH": os.environ["PATH"]}
        command = os.environ.get("SERVE", "").split() or [sys.executable, "-I", "-m", "rolecall_server", "serve"]
        self.process = subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._came: queue.Queue[dict[str, Any]] = queue.Queue()
        self._texts: dict[str, str] = {}
        self._n_sent = 0
        threading.Thread(target=self._listen, daemon=True).start()
        self.request("initialize", initialize(root))
        self.notify("initialized", {})

    def request(self, method: str, params: object) -> Any:
        """Return the result of a request."""
        return self.await_result(self.send(method, params))

    def send(self, method: str, params: object) -> int:
        """Send a request and return its number."""
        self._n_sent += 1
        self._write({"id": self._n_sent, "method": method, "params": params})
        return self._n_sent

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._write({"method": method, "params": params})

    def await_result(self, number: int) -> Any:
        """Wait for the answer to the request of that number; what comes before is passed over."""
        while (message := self._came.get(timeout=60)).get("id") != number or "method" in message:
            pass
        return message.get("result")

    def await_told(self, method: str) -> None:
        """Wait for a notification; what comes before is passed over."""
        while self._came.get(timeout=60).get("method") != method:
            pass

    def settle(self) -> None:
        """Wait until nothing more comes, and forget what came."""
        time.sleep(0.5)
        while not self._came.empty():
            self._came.get()

    def _listen(self) -> None:
        for message in messages_from(self.process):
            if message.get("method") == "workspace/applyEdit":
                self._apply(message["params"]["edit"])
            if "method" in message and "id" in message:
                self._write({"id": message["id"], "result": {"applied": True}})
            self._came.put(message)

    def _apply(self, edit: Mapping[str, Any]) -> None:
        for change in edit["documentChanges"]:
            uri = change["textDocument"]["uri"]
            if uri not in self._texts:
                self._texts[uri] = Path(uri.removeprefix("file://")).read_text(encoding="utf-8")
                opened = {"uri": uri, "languageId": "python", "version": 1, "text": self._texts[uri]}
                self.notify("textDocument/didOpen", {"textDocument": opened})
            self._texts[uri] = edited(self._texts[uri], change["edits"])
            document = {"uri": uri, "version": 2}
            self.notify(
                "textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": self._texts[uri]}]}
            )

    def _write(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "work"
        propose(root, Path(folder) / "rolecall" / "rolecall.db")
        client = Client(root, Path(folder))
        client.settle()
        anchor = statistics.median(1000 * seconds(client, "textDocument/unknown") for _ in range(N_DECIDED))
        table = Table("decision", "until", "median ms", "most ms", f"of a refusal ({anchor:.2f} ms)")
        for verdict, first in (("reject", 0), ("accept", N_DECIDED)):
            hunks = [f"h{N_IN_FILE * (first + n) + 1}" for n in range(N_DECIDED)]
            for part, taken in decide(client, verdict, hunks).items():
                median = statistics.median(taken)
                table.add_row(verdict, part, f"{median:.1f}", f"{max(taken):.1f}", f"{median / anchor:.0f}")
        Console().print(table)
        client.request("shutdown", None)
        client.notify("exit", None)
        client.process.wait()


def decide(client: Client, verdict: str, hunks: list[str]) -> Times:
    """Decide about each of *hunks*; the milliseconds that each part took, from the moment of the command."""
    taken: Times = {}
    server = psutil.Process(client.process.pid)
    for number, hunk in enumerate(hunks):
        used, start = cpu_ms(server), time.perf_counter()
        client.send("workspace/executeCommand", command(verdict, hunk))
        client.await_told(CHANGED)
        note(taken, "told", start)
        answers = [client.send("rolecall/review", {}), client.send("rolecall/review/text", side(verdict, number))]
        client.await_result(answers[0])
        note(taken, "the list is read", start)
        client.await_result(answers[1])
        note(taken, "the side is read", start)
        client.settle()
        taken.setdefault("CPU of all of it", []).append(cpu_ms(server) - used)
    return taken


def note(taken: Times, part: str, start: float) -> None:
    """Keep how long *part* took."""
    taken.setdefault(part, []).append(1000 * (time.perf_counter() - start))


def command(verdict: str, hunk: str) -> Mapping[str, Any]:
    """Return a decision about *hunk*."""
    return {"command": f"rolecall.hunk.{verdict}", "arguments": [{"proposalId": "p1", "hunkIds": [hunk]}]}


def side(verdict: str, number: int) -> Mapping[str, Any]:
    """Return the file that the decision of that number is about."""
    return {"proposalId": "p1", "path": path_of(number + (N_DECIDED if verdict == "accept" else 0))}


def seconds(client: Client, method: str) -> float:
    """Return how long a request takes."""
    start = time.perf_counter()
    client.request(method, {})
    return time.perf_counter() - start


def cpu_ms(process: psutil.Process) -> float:
    """Return what *process* has computed."""
    times = process.cpu_times()
    return 1000 * (times.user + times.system)


def propose(root: Path, database: Path) -> None:
    """Write a workspace, and the proposal of another line in each of its functions."""
    for path, text in texts("n").items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    index = Index(root)
    index.scan()
    store = open_store(database)
    run_id = store.add_run(root, "engineer", "", "Count from one")
    changes = link_hunks(changes_of(Workspace(root), {**texts("n + 1")}, {}), index.snapshot())
    index.close()
    evidence = Evidence(ran=True, after=Tally(140, 0), confinement="here", model="a script")
    proposal_id = store.reserve_proposal(run_id)
    save_proposal(
        store, Proposal(proposal_id, run_id, "Engineer", "Count from one", "It is better.", "", changes, evidence)
    )
    store.end_run(run_id, "finished")
    store.close()


def path_of(number: int) -> str:
    """Return the path of a file."""
    return f"pack/part_{number:02}.py"


def texts(returned: str) -> dict[str, str]:
    """Return files of a few functions each."""
    return {
        path_of(k): "\n\n".join(f"def step_{k}_{n}(n):\n    return {returned}\n" for n in range(N_IN_FILE))
        for k in range(N_FILES)
    }


def edited(text: str, edits: list[Mapping[str, Any]]) -> str:
    """Return *text* with edits of whole lines."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda one: -one["range"]["start"]["line"]):
        start, end = edit["range"]["start"], edit["range"]["end"]
        last = lines[end["line"]][end["character"] :] if end["line"] < len(lines) else ""
        lines[start["line"] : end["line"] + 1] = [lines[start["line"]][: start["character"]] + edit["newText"] + last]
    return "".join(lines)


def messages_from(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Yield what the server says."""
    assert process.stdout
    while header := process.stdout.readline():
        size = int(header.split(b":")[1])
        while process.stdout.readline().strip():
            pass
        yield json.loads(process.stdout.read(size))


def initialize(root: Path) -> Mapping[str, Any]:
    """Return the first message of VS Code with the extension."""
    capabilities = json.loads(RECORDED.read_text(encoding="utf-8"))["capabilities"]
    ours = {"rolecall": {"graph": True, "input": True, "questions": True, "review": True, "trusted": True}}
    folder = {"uri": root.as_uri(), "name": root.name}
    return {
        "processId": None,
        "rootUri": folder["uri"],
        "workspaceFolders": [folder],
        "capabilities": {**capabilities, "experimental": ours},
        "initializationOptions": {"tests": {"run": False}},
    }


if __name__ == "__main__":
    main()
