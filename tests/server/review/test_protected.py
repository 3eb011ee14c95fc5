"""Which paths take a second confirmation, and which no edit may name at all."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from rolecall_server.review.guards.edit_paths import name_key, why_not_changed
from rolecall_server.review.guards.guarded_paths import why_protected
from rolecall_server.workspace import Workspace

GUARDED = (
    ".git/config",
    ".git/hooks/pre-commit",
    "vendor/lib/.git/hooks/post-checkout",
    ".gitattributes",
    ".gitmodules",
    ".githooks/pre-push",
    ".husky/pre-commit",
    ".pre-commit-config.yaml",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".zed/settings.json",
    "shop.code-workspace",
    ".editorconfig",
    ".github/workflows/release.yml",
    ".github/actions/build/action.yml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".devcontainer/devcontainer.json",
    ".cursor/rules/all.mdc",
    ".cursorrules",
    ".mcp.json",
    "CLAUDE.md",
    "docs/AGENTS.md",
    ".rolecall/roles/engineer.md",
    ".env",
    ".env.local",
    ".envrc",
    ".bashrc",
    ".npmrc",
    ".config/fish/config.fish",
    "conftest.py",
    "tests/unit/conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "sitecustomize/__init__.py",
    "src/evil.pth",
    "python311._pth",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "tox.ini",
    "pytest.ini",
    "noxfile.py",
    "hatch_build.py",
    "Makefile",
    "build/rules.mk",
    "CMakeLists.txt",
    "build.rs",
    "package.json",
    "webpack.config.js",
    "vite.config.mts",
    "Dockerfile",
    "docker/api.Dockerfile",
    "compose.override.yaml",
    "uv.lock",
    "package-lock.json",
    "Cargo.toml",
    "requirements/base-requirements.txt",
    "requirements.txt",
    "go.sum",
    "venv/bin/python",
    "venv/lib/python3.11/site-packages/pytest/__init__.py",
    "env/bin/activate",
    "conda/conda-meta/history",
    "node_modules/eslint/bin/eslint.js",
    "lib/x-1.0.dist-info/entry_points.txt",
    "tools/pyvenv.cfg",
    "tools/bin/python3",
    "hooks/pre-commit",
    "main.git/config",
    "docs/conf.py",
    "docs/source/conf.py",
    "requirements/dev.txt",
    "lefthook.yaml",
    "lefthook.toml",
    "mise.toml",
    "mise.local.toml",
    "flake.nix",
    "gradle/wrapper/gradle-wrapper.properties",
    "action.yml",
    "pytest.py",
    "_pytest/__init__.py",
    "rolecall_report.py",
    "alembic/env.py",
    "jest.setup.js",
    "git.exe",
    "infra/main.tf",
)

ORDINARY = (
    "price.py",
    "src/shop/cart.py",
    "tests/test_price.py",
    "docs/guide.md",
    "README.md",
    "src/app.ts",
    "lib/configure_prices.py",
    "tests/fixtures/lock.py",
    "shop/git/client.py",
    "café/prix.py",
    "docs/naïve.md",
    "данные/цены.py",
    "build_report.py",
    "environment.py",
    "shop/tasks.py",
    "shop/env/loader.py",
    "shop/conf.py",
    "docs/requirements.md",
    "shop/python/reader.py",
    "tests/test_tasks.py",
    "src/node/index.ts",
)


def full_width(path: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c != "/" else c for c in path)


SPELLINGS = {
    "as it is": lambda path: path,
    "capitals": str.upper,
    "mixed case": str.title,
    "NFD": lambda path: unicodedata.normalize("NFD", path),
    "full width": full_width,
    "long s and Kelvin sign": lambda path: path.replace("s", "\u017f").replace("k", "\u212a"),
    "dotless i": lambda path: path.replace("i", "\u0131"),
    "trailing dot": lambda path: path + ".",
    "trailing space": lambda path: path + "  ",
    "trailing dots in folders": lambda path: path.replace("/", ". /"),
    "stream": lambda path: path + "::$DATA",
    "backslashes": lambda path: path.replace("/", "\\"),
    "doubled separators": lambda path: path.replace("/", "//"),
    "zero width": lambda path: path[:2] + "\u200c" + path[2:],
    "in a folder": lambda path: f"deep/down/{path}",
    "here": lambda path: f"./{path}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("path", GUARDED)
def test_no_spelling_of_a_guarded_path_passes_without_a_reason(path: str, spelling: str) -> None:
    assert why_protected(SPELLINGS[spelling](path))


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_are_not_guarded(path: str) -> None:
    assert why_protected(path) is None
    assert why_protected(unicodedata.normalize("NFD", path)) is None


@pytest.mark.parametrize("path", ["GIT~1/config", "CONFTE~1.PY", "src/SETUPP~1.PY", "package~1.jso"])
def test_what_may_be_a_short_name_of_windows_is_guarded(path: str) -> None:
    assert "short name" in (why_protected(path) or "")


@pytest.mark.parametrize("path", ["tasks.py", "build.py", "conf.py", "python", "python3.12"])
def test_some_names_are_guarded_at_the_root_alone(path: str) -> None:
    assert why_protected(path)
    assert why_protected(f"shop/{path}") is None


def test_the_reason_says_who_acts_on_the_file() -> None:
    assert why_protected("tests/conftest.py") == "pytest runs it before any test"
    assert why_protected(".GitHub/Workflows/x.yml") == "a service runs what it says at the next push"
    assert "U+0430 CYRILLIC SMALL LETTER A" in (why_protected("p\u0430ckage_list.py") or "")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("key = 1\n")
    (root / "src" / "price.py").write_text("price = 1\n")
    (root / "src" / "café.py").write_text("café = 1\n")
    (root / "linked.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "linked_folder").symlink_to(tmp_path / "outside", target_is_directory=True)
    (root / "other_name.py").symlink_to(root / "src" / "price.py")
    (root / "alias").symlink_to(root / "src", target_is_directory=True)
    (root / "dangling.py").symlink_to(tmp_path / "outside" / "new.py")
    (root / "circle.py").symlink_to(root / "circle.py")
    return Workspace(root.resolve(), {"open/Unsaved.py": "x = 1\n"})


ESCAPES = (
    "../outside/secret.py",
    "src/../../outside/secret.py",
    "/etc/passwd",
    "linked.py",
    "linked_folder/secret.py",
    "linked_folder/new.py",
    "dangling.py",
    "circle.py",
    "other_name.py",
    "alias/price.py",
    "alias/new.py",
    "src/../src/price.py",
    "./src/price.py",
    "src//price.py",
    "src/price.py/../new.py",
    "src/a\0b.py",
    "..",
    ".",
    "",
    "..\\outside\\secret.py",
    "src\\price.py",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "\\\\server\\share\\x.py",
    "src/price.py:hidden",
    "src/price.py::$DATA",
    "src/new.py.",
    "src/new.py ",
    "src./new.py",
    "src/CON",
    "src/nul.py",
    "src/com1.txt",
    "src/a\nb.py",
    "src/\u2025/\u2025/x.py",
    "src/\uff0e\uff0e/x.py",
    "src\uff0fprice.py",
    "src\uff3cnew.py",
    "src/a*b.py",
)
"""What leaves the workspace, goes by another name, or would on another system."""

TWINS = {
    "src/Price.py": "src/price.py",
    "SRC/price.py": "src",
    "Src/new.py": "src",
    "src/PRICE.PY": "src/price.py",
    unicodedata.normalize("NFD", "src/café.py"): "src/café.py",
    "src/CAFÉ.py": "src/café.py",
    "src/\uff50rice.py": "src/price.py",
    "src/pr\u200bice.py": "src/price.py",
    "src/pr\u0131ce.py": "src/price.py",
    "open/unsaved.py": "open/Unsaved.py",
    "Open/new.py": "open",
}


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_leads_elsewhere_is_refused(workspace: Workspace, path: str) -> None:
    assert why_not_changed(workspace, path)


@pytest.mark.parametrize("path", TWINS)
def test_a_new_file_may_not_be_another_spelling_of_one_that_is_there(workspace: Workspace, path: str) -> None:
    assert f"cannot be told from {TWINS[path]}" in (why_not_changed(workspace, path) or "")


@pytest.mark.parametrize("above", ["src/price.py", "open/Unsaved.py"])
def test_no_new_file_may_lie_below_a_file(workspace: Workspace, above: str) -> None:
    for below in ("tax.py", "new/tax.py"):
        assert (
            why_not_changed(workspace, f"{above}/{below}")
            == f"{above}/{below} would lie below {above}, which is a file."
        )


@pytest.mark.parametrize(
    "path", ["src/price.py", "src/café.py", "open/Unsaved.py", "src/new.py", "tests/unit/test_x.py"]
)
def test_what_lies_inside_under_its_own_name_may_be_changed(workspace: Workspace, path: str) -> None:
    assert why_not_changed(workspace, path) is None


def test_an_existing_file_with_an_odd_name_may_be_changed(workspace: Workspace) -> None:
    (workspace.root / "src" / "what: a name.py").write_text("x = 1\n")
    (workspace.root / "src" / "PRICE.py").write_text("x = 1\n")
    assert why_not_changed(workspace, "src/what: a name.py") is None
    assert why_not_changed(workspace, "src/PRICE.py") is None


def test_the_key_of_a_name_keeps_what_file_systems_tell_apart() -> None:
    assert name_key("src/a.py") != name_key("src/b.py")
    assert name_key("src/../a.py") == "src/../a.py"
    assert name_key("Src\\A.py") == name_key("src/a.PY. ") == "src/a.py"
