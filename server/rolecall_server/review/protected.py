"""Files that act on their own: an editor, git, a build, a test run or a service obeys them as soon as they change.

A hunk in one of them is accepted by a second confirmation that names the file and says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from rolecall_server.review.hidden import hidden_characters
from rolecall_server.review.proposal import HunkKind, Proposal
from rolecall_server.workspace import name_key

_EDITOR = "an editor obeys it as soon as the folder is open"
_GIT = "git reads it, and runs what it names"
_SERVICE = "a service runs what it says at the next push"
_SHELL = "a shell or a tool reads it, often with secrets in it"
_ROLECALL = "Rolecall reads its own settings and instructions from it"
_PYTEST = "pytest runs it before any test"
_PYTHON = "Python runs it whenever it starts"
_BUILD = "it runs when the project is built, installed or tested"
_TOOLS = "tools read their settings from it, and some run what it names"
_PACKAGES = "it says which packages are installed"
_CONTAINER = "it says what runs in a container"
_MODEL = "other coding tools obey what it says"
_DOTFILE = "tools read files whose name begins with a dot without being asked"

_FOLDERS = {
    **dict.fromkeys((".git", ".githooks", "githooks", "git-hooks", ".husky"), _GIT),
    **dict.fromkeys((".vscode", ".vscode-server", ".idea", ".fleet", ".zed", ".helix", ".nvim", ".vim"), _EDITOR),
    **dict.fromkeys((".github", ".gitlab", ".circleci", ".buildkite", ".woodpecker", ".teamcity"), _SERVICE),
    **dict.fromkeys((".cursor", ".claude", ".codex", ".continue", ".clinerules", ".roo", ".windsurf"), _MODEL),
    **dict.fromkeys((".devcontainer", ".docker"), _CONTAINER),
    **dict.fromkeys(("sitecustomize", "usercustomize"), _PYTHON),
    ".rolecall": _ROLECALL,
}
"""What everything in a folder of that name is guarded for, however deep it lies."""

_FILES = {
    "conftest.py": _PYTEST,
    **dict.fromkeys(("sitecustomize.py", "usercustomize.py"), _PYTHON),
    **dict.fromkeys(
        (
            *("setup.py", "hatch_build.py", "noxfile.py", "dodo.py", "fabfile.py", "conanfile.py", "wscript"),
            *("makefile", "gnumakefile", "justfile", "rakefile", "vagrantfile", "procfile", "tiltfile"),
            *("sconstruct", "sconscript", "cmakelists.txt", "meson.build", "build", "build.bazel", "workspace"),
            *("build.xml", "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
            *("gradle.properties", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "build.rs", "configure"),
            *("package.json", "gulpfile.js", "gruntfile.js", "taskfile.yml", "taskfile.yaml", "lefthook.yml"),
            *("composer.json", "gemfile", "podfile", "package.swift", "directory.build.props", "nuget.config"),
        ),
        _BUILD,
    ),
    **dict.fromkeys(
        ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "mypy.ini", "pylintrc", "babel.config.json"), _TOOLS
    ),
    **dict.fromkeys(
        (
            *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "go.mod", "go.sum"),
            *("go.work", "pipfile", "cargo.toml", "environment.yml", "environment.yaml", "packages.lock.json"),
        ),
        _PACKAGES,
    ),
    **dict.fromkeys(
        (
            *("jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml", "appveyor.yml", "bitbucket-pipelines.yml"),
            *("cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "netlify.toml", "vercel.json", "codecov.yml"),
        ),
        _SERVICE,
    ),
    **dict.fromkeys(("agents.md", "claude.md", "gemini.md", "copilot-instructions.md"), _MODEL),
}

_SHAPES = (
    (
        re.compile(r"\.env(rc|\..+)?|\.(bash|zsh|ksh|csh|tcsh)?(rc|_?profile|login|logout)|\.netrc|\.pypirc|\.npmrc"),
        _SHELL,
    ),
    (re.compile(r"\.git\w+|\.pre-commit-(config|hooks)\.ya?ml"), _GIT),
    (re.compile(r"\.(gitlab-ci|travis|drone|cirrus)\.ya?ml"), _SERVICE),
    (re.compile(r"\.\w*rules|\.mcp\.json"), _MODEL),
    (re.compile(r".+\.code-workspace|.+\.sublime-project|\.editorconfig|\.exrc|\.dir-locals(-2)?\.el"), _EDITOR),
    (re.compile(r".*\.pth|.*\._pth|.*\.egg-link"), _PYTHON),
    (re.compile(r"(dockerfile|containerfile)(\..+)?|.+\.dockerfile|(docker-)?compose(\..+)?\.ya?ml"), _CONTAINER),
    (re.compile(r".+\.lock|.+\.lockb|.*requirements.*\.(txt|in)|constraints.*\.txt"), _PACKAGES),
    (re.compile(r".+\.(mk|cmake|gradle|vcxproj|csproj|fsproj|vbproj|sln|targets|gemspec|bazel|bzl)"), _BUILD),
    (re.compile(r".+\.config\.([cm]?[jt]s|json)"), _BUILD),
)

_SHORT_NAME = re.compile(r"[^.]{1,8}~\d+(\.[^.]{0,3})?")


def why_protected(path: str) -> str | None:
    """Why a change of *path* takes a second confirmation, as half a sentence, or ``None``.

    The name is judged as the most lenient file system reads it (`name_key`), so no spelling of a guarded name passes.
    """
    if (odd := hidden_characters([path], is_code=True)) != ():
        return f"its name holds {odd[0].what}"
    key = name_key(path)
    parts = key.split("/")
    guards: Iterable[Callable[[], str | None]] = (
        lambda: next((_FOLDERS[part] for part in parts if part in _FOLDERS), None),
        lambda: _FILES.get(parts[-1]),
        lambda: next((why for shape, why in _SHAPES for part in parts if shape.fullmatch(part)), None),
        lambda: _DOTFILE if any(part.startswith(".") for part in parts) else None,
        lambda: _short_name(parts),
    )
    return next((why for guard in guards if (why := guard()) is not None), None)


def guarded_paths(proposal: Proposal, hunk_ids: Collection[str]) -> dict[str, str]:
    """The guarded files that accepting *hunk_ids* changes, each with why it is guarded."""
    touched = [
        path
        for change, hunk in proposal.hunks()
        if hunk.id in hunk_ids
        for path in (change.path, change.renamed_to if hunk.kind is HunkKind.RENAME else "")
    ]
    return {path: why for path in dict.fromkeys(touched) if path and (why := why_protected(path)) is not None}


def _short_name(parts: list[str]) -> str | None:
    short = next((part for part in parts if _SHORT_NAME.fullmatch(part)), None)
    return f"{short} may be Windows' short name of another file" if short else None
