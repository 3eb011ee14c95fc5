"""Files that act on their own: an editor, git, a build, a test run or a service obeys them as soon as they change.

A hunk in one of them is accepted by a second confirmation that names the file and says why. What nobody looks at
before it is written (`--yes`) is judged the other way round: only what is known to be harmless is (`kept_from_yes`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

from rolecall_analysis import is_test_path
from rolecall_analysis.folder import files_below
from rolecall_analysis.ignored import ENVIRONMENT_MARKERS, Ignored, is_ignored, is_there
from rolecall_analysis.languages import language_of
from rolecall_server.errors import FileRefused
from rolecall_server.review.guards.edit_paths import name_key
from rolecall_server.review.guards.hidden_characters import hidden_characters
from rolecall_server.review.proposals.proposal import FileChange, HunkKind, Proposal
from rolecall_server.workspace import Workspace, absolute_path

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
_TESTS = "the tests load it before any of them runs"
_DOCS = "it runs when the documentation is built"
_ENVIRONMENT = "it lies in an environment: what is installed there runs as a part of Python, or as a program"
PROGRAM = "it may be run as a program, and can be under its new name"
_STARTED = "it is a program that is started by its name"
_IGNORED = "git ignores it, so no diff shows what becomes of it"
_SHADOW = "Python may take it for its own module, or for pytest's, of that name"
_DOTFILE = "tools read files whose name begins with a dot without being asked"

_FOLDERS = {
    **dict.fromkeys((".git", ".githooks", "githooks", "git-hooks", ".husky"), _GIT),
    **dict.fromkeys((".vscode", ".vscode-server", ".idea", ".fleet", ".zed", ".helix", ".nvim", ".vim"), _EDITOR),
    **dict.fromkeys((".github", ".gitlab", ".circleci", ".buildkite", ".woodpecker", ".teamcity"), _SERVICE),
    **dict.fromkeys((".cursor", ".claude", ".codex", ".continue", ".clinerules", ".roo", ".windsurf"), _MODEL),
    **dict.fromkeys((".devcontainer", ".docker"), _CONTAINER),
    **dict.fromkeys(("sitecustomize", "usercustomize", "__pycache__"), _PYTHON),
    **dict.fromkeys(("venv", "virtualenv", "site-packages", "dist-packages", "__pypackages__"), _ENVIRONMENT),
    **dict.fromkeys(("conda-meta", "node_modules", "bower_components"), _ENVIRONMENT),
    **dict.fromkeys(("pytest", "_pytest", "rolecall_report"), _SHADOW),
    ".rolecall": _ROLECALL,
}
"""The reason for which everything in a folder of that name is guarded, however deep it lies."""

_FILES = {
    "conftest.py": _PYTEST,
    **dict.fromkeys(("sitecustomize.py", "usercustomize.py"), _PYTHON),
    **dict.fromkeys(("pytest.py", "_pytest.py", "rolecall_report.py"), _SHADOW),
    **dict.fromkeys(("spec_helper.rb", "rails_helper.rb", "test_helper.rb", "phpunit.xml"), _TESTS),
    "pyvenv.cfg": _ENVIRONMENT,
    **dict.fromkeys(
        (
            *("pre-commit", "pre-push", "pre-rebase", "pre-receive", "pre-merge-commit", "pre-applypatch"),
            *("post-checkout", "post-commit", "post-merge", "post-receive", "post-rewrite", "post-update"),
            *("post-applypatch", "post-index-change", "applypatch-msg", "commit-msg", "prepare-commit-msg"),
            *("pre-auto-gc", "push-to-checkout", "reference-transaction", "fsmonitor-watchman", "sendemail-validate"),
        ),
        _GIT,
    ),
    **dict.fromkeys(
        (
            *("pavement.py", "locustfile.py", "hatch.toml", "setup.hs", "configure.ac", "makefile.am", "xmake.lua"),
            *("buck", "snakefile", "caddyfile", "earthfile", "brewfile", "guardfile", "build.sbt", "build.zig"),
            *("mix.exs", "stack.yaml", "dvc.yaml", "skaffold.yaml", "artisan", "webpack.mix.js", "nodemon.json"),
            *("gradle-wrapper.properties", "gradle-wrapper.jar", "turbo.json", "nx.json", "lerna.json", "deno.json"),
            *("deno.jsonc", "bunfig.toml", "tsconfig.json", "jsconfig.json", "gunicorn.conf.py", "celeryconfig.py"),
        ),
        _BUILD,
    ),
    **dict.fromkeys(
        (
            *("setup.py", "hatch_build.py", "noxfile.py", "dodo.py", "fabfile.py", "conanfile.py", "wscript"),
            *("justfile", "rakefile", "vagrantfile", "procfile", "tiltfile"),
            # `BUILD` and `WORKSPACE` are Bazel's: names here are in lower case, as `name_key` gives them.
            *("sconstruct", "sconscript", "cmakelists.txt", "meson.build", "build", "build.bazel", "workspace"),
            *("build.xml", "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
            *("gradle.properties", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "build.rs", "configure"),
            *("package.json", "gulpfile.js", "gruntfile.js", "taskfile.yml", "taskfile.yaml"),
            *("composer.json", "gemfile", "podfile", "package.swift", "directory.build.props", "nuget.config"),
        ),
        _BUILD,
    ),
    **dict.fromkeys(
        (
            *("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "mypy.ini", "pylintrc", "babel.config.json"),
            *("ansible.cfg", "logging.conf", "mkdocs.yml", "mkdocs.yaml", "renovate.json", "renovate.json5"),
        ),
        _TOOLS,
    ),
    **dict.fromkeys(
        (
            *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "go.mod", "go.sum"),
            *("go.work", "pipfile", "cargo.toml", "environment.yml", "environment.yaml", "packages.lock.json"),
            *("uv.toml", "poetry.toml", "pdm.toml", "pixi.toml"),
        ),
        _PACKAGES,
    ),
    **dict.fromkeys(
        (
            *("azure-pipelines.yml", "azure-pipelines.yaml", "appveyor.yml", "bitbucket-pipelines.yml"),
            *("kustomization.yaml", "chart.yaml", "cloudformation.yml", "amplify.yml", "wercker.yml"),
            *("bitrise.yml", "codemagic.yaml", "cog.toml", "action.yml", "action.yaml"),
            *("serverless.yml", "app.yaml", "fly.toml", "render.yaml", "railway.json"),
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
    # The ending is looked for first: at the end it would be sought anew from each place of the word.
    (re.compile(r".+\.lockb?|(?=.*\.(txt|in)\Z).*?requirements.*|constraints.*\.txt"), _PACKAGES),
    (re.compile(r".+\.(mk|cmake|gradle|vcxproj|csproj|fsproj|vbproj|sln|targets|gemspec|bazel|bzl)"), _BUILD),
    (re.compile(r".+\.config\.([cm]?[jt]s|json)|(jest|vitest|karma|protractor)\.\w+\.[cm]?[jt]s"), _BUILD),
    (re.compile(r"(lefthook|mise)(\..+)?\.(ya?ml|toml|json)|.+\.nix"), _BUILD),
    (re.compile(r"jenkinsfile(\..+)?|.+\.(tf|tfvars)|(gitlab-)?ci\.ya?ml"), _SERVICE),
    (re.compile(r"(gnu)?makefile(\..+)?"), _BUILD),
    (re.compile(r".+\.(dist|egg)-info|.+\.egg"), _ENVIRONMENT),
    (re.compile(r".+\.git"), _GIT),
    (re.compile(r"(python|pypy|node)[\d.]*w?\.exe|.+\.(exe|com|bat|cmd|ps1|dll|so|dylib|pyd)"), _STARTED),
)
"""The reason for which a part of a path is guarded, wherever it stands."""

_PLACES = (
    (re.compile(r"(.*/)?env/(bin|scripts|lib\d*|include|share|etc)(/.*)?"), _ENVIRONMENT),
    (re.compile(r"(.*/)?(bin|scripts)/(activate[^/]*|python[\d.]*|pip[\d.]*|pytest)|python[\d.]*"), _ENVIRONMENT),
    (re.compile(r"(?=.*\.(txt|in|pip)\Z)(.*/)?requirements?/.*"), _PACKAGES),
    (re.compile(r"conf\.py|(?=.*/conf\.py\Z)(.*/)?(docs?|documentation|sphinx)/.*"), _DOCS),
    (re.compile(r"(.*/)?(alembic|migrations)/env\.py"), _BUILD),
    (re.compile(r"(tasks|build)\.py"), _BUILD),
)
"""The reason for which a path is guarded as a whole."""

_INERT = frozenset({".csv", ".html", ".json", ".svg", ".tsv", ".xml"})
"""Data that nothing obeys, where it lies among tests."""
_MORE_SOURCES = frozenset(
    {
        *(".kt", ".swift", ".scala", ".clj", ".ex", ".exs", ".erl", ".hs", ".ml", ".lua", ".dart", ".r", ".jl", ".pl"),
        *(".zig", ".nim", ".m", ".mm", ".vue", ".svelte", ".css", ".scss", ".sass", ".less", ".htm", ".html", ".j2"),
    }
)
"""The suffixes of source files that the code graph does not read."""
_PROSE = frozenset({".md", ".markdown", ".rst", ".adoc", ".asciidoc"})
_PROSE_WITHOUT_SUFFIX = frozenset({"AUTHORS", "CHANGELOG", "CONTRIBUTING", "COPYING", "LICENSE", "NOTICE", "README"})
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__"})
_IMPORTED_FIRST = sys.stdlib_module_names | {"coverage", "pluggy", "iniconfig", "hypothesis", "xdist", "pytest_cov"}
_NOT_PLAIN = "it is neither documentation nor a source or test file, old or beside others of its language"

# Windows gives a long name a short one of at most eight and three characters: `GIT~1` may open `.git`.
_SHORT_NAME = re.compile(r"[^.]{1,8}~\d+(\.[^.]{0,3})?")


def why_protected(path: str) -> str | None:
    """Return the reason why a change of *path* takes a second confirmation, as half a sentence, or ``None``.

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
        lambda: next((why for place, why in _PLACES if place.fullmatch(key)), None),
        lambda: _DOTFILE if any(part.startswith(".") for part in parts) else None,
        lambda: _short_name(parts),
    )
    return next((why for guard in guards if (why := guard()) is not None), None)


def guarded_paths(workspace: Workspace, proposal: Proposal, hunk_ids: Collection[str]) -> dict[str, str]:
    """Return the guarded files that accepting *hunk_ids* changes, each with why it is guarded."""
    # As git does: the graph leaves out folders like `.github` and `build` that no rule ignores.
    touched, ignored = _touched(proposal, hunk_ids), Ignored(workspace.root, as_git_does=True)
    whys = {path: _why_guarded(workspace, ignored, change, path) for path, change in touched.items()}
    return {path: why for path, why in whys.items() if why}


def kept_from_yes(workspace: Workspace, proposal: Proposal, hunk_ids: Collection[str]) -> dict[str, str]:
    """Return the files that nobody may have changed by *hunk_ids* without having seen them named, each with why.

    Let through are sources and tests that are there, new ones beside others of their language or in a repository that
    has no source yet, and documentation.
    """
    guarded, touched = guarded_paths(workspace, proposal, hunk_ids), _touched(proposal, hunk_ids)
    whys = {p: guarded.get(p) or _why_kept(workspace, proposal, change, p) for p, change in touched.items()}
    return {path: why for path, why in whys.items() if why}


def paths_of(proposal: Proposal, hunk_ids: Collection[str]) -> tuple[str, ...]:
    """Return the files that accepting *hunk_ids* changes, those that it gives a new name under both."""
    return tuple(_touched(proposal, hunk_ids))


def is_prose(path: str) -> bool:
    """Return whether *path* is documentation by its name."""
    name = PurePosixPath(path)
    if name.suffix == ".txt":
        # Not each text is prose: `requirements.txt` says what is installed, and a test may read its data from one.
        return why_protected(path) is None and "tests" not in name.parts
    return name.suffix.lower() in _PROSE or name.name in _PROSE_WITHOUT_SUFFIX


def _touched(proposal: Proposal, hunk_ids: Collection[str]) -> dict[str, FileChange]:
    """Return the paths that *hunk_ids* change, each with the change of its file."""
    found: dict[str, FileChange] = {}
    for change, hunk in proposal.hunks():
        if hunk.id in hunk_ids:
            found[change.path] = change
            if hunk.kind is HunkKind.RENAME and change.renamed_to:
                found[change.renamed_to] = change
    return found


def _why_guarded(workspace: Workspace, ignored: Ignored, change: FileChange, path: str) -> str | None:
    """Return why *path* is guarded: by its name, by where it lies on this disk, or by what it would become."""
    try:
        real = absolute_path(workspace, path).relative_to(workspace.root).as_posix()
    except FileRefused as error:
        return error.what
    # The real path as well: a link in the path may lead to a guarded place.
    why = why_protected(path) or why_protected(real) or _why_apart(ignored, real) or _why_shadow(workspace, real)
    return why or (PROGRAM if path == change.renamed_to and _is_program(workspace, change) else None)


def _is_program(workspace: Workspace, change: FileChange) -> bool:
    return change.executable or os.access(workspace.root / change.path, os.X_OK)


def _why_apart(ignored: Ignored, path: str) -> str | None:
    """Return why what lies at *path* is not a part of the sources: an environment, a repository's, or ignored."""
    folders = [folder for folder in reversed(PurePosixPath(path).parents) if folder != PurePosixPath()]
    for folder in (ignored.root / one for one in folders):
        if any(is_there(folder / marker) for marker in ENVIRONMENT_MARKERS):
            return _ENVIRONMENT
        # A bare repository has these in a folder of any name.
        if is_there(folder / "HEAD", Path.is_file) and is_there(folder / "objects", Path.is_dir):
            return _GIT
    rules = ignored.rules_in(folders[-1].as_posix() if folders else "")
    return _IGNORED if rules is None or is_ignored(path, rules) else None


def _why_shadow(workspace: Workspace, path: str) -> str | None:
    """Return why a new module or package at *path* would be found in place of one that is installed."""
    location = workspace.root / path
    if is_there(location) or location.suffix != ".py":
        return None
    module = location.parent if location.name == "__init__.py" else location
    is_top_level = not is_there(module.parent / "__init__.py")
    return _SHADOW if is_top_level and module.stem in _IMPORTED_FIRST else None


def _why_kept(workspace: Workspace, proposal: Proposal, change: FileChange, path: str) -> str | None:
    """Return why a file that is not guarded is none that may be changed unseen."""
    is_new = change.creates or path == change.renamed_to
    # Who ran the command on a file has named it.
    named = path == proposal.origin or PurePosixPath(path).name == "py.typed"
    if is_prose(path) or named or _is_test_data(path):
        return None
    language = _language(path)
    if language and (not is_new or is_test_path(path) or _is_beside(workspace, path, language) or _is_bare(workspace)):
        return None
    return _NOT_PLAIN


def _is_bare(workspace: Workspace) -> bool:
    """Return whether the repository has no source file: nothing is there that a new one could lie beside."""
    found = files_below(Ignored(workspace.root), "", lambda path: _language(path) is not None)
    return not any(True for _ in found)


def _language(path: str) -> str | None:
    suffix = PurePosixPath(path).suffix.lower()
    return language_of(path) or (suffix if suffix in _MORE_SOURCES else None)


def _is_test_data(path: str) -> bool:
    name = PurePosixPath(path)
    return name.suffix.lower() in {*_INERT, ".txt"} and not _TEST_FOLDERS.isdisjoint(name.parts)


def _is_beside(workspace: Workspace, path: str, language: str) -> bool:
    """Return whether the folder of a new file holds others of its *language*; of a new folder, the one around it."""
    folder = (workspace.root / path).parent
    is_new_folder = not is_there(folder, Path.is_dir)
    while not is_there(folder, Path.is_dir) and folder != workspace.root:
        folder = folder.parent
    return any(
        _language(name) == language and not why_protected(name) for name in _names_near(folder, below=is_new_folder)
    )


def _names_near(folder: Path, *, below: bool) -> Iterator[str]:
    """Yield the names of files in *folder*, and of those in its folders where *below* says so."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if is_there(entry, Path.is_file):
            yield entry.name
        elif below and not entry.name.startswith(".") and is_there(entry, Path.is_dir):
            yield from _names_near(entry, below=False)


def _short_name(parts: list[str]) -> str | None:
    short = next((part for part in parts if _SHORT_NAME.fullmatch(part)), None)
    return f"{short} may be Windows' short name of another file" if short else None
