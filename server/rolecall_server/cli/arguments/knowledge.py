"""Commands that tell what was written down, kept, used and found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rolecall_server.cli.arguments.options import add_command, add_root, add_settings

if TYPE_CHECKING:
    from rolecall_server.cli.arguments.options import Commands


def add_documents(commands: Commands) -> None:
    """Add `documents`."""
    documents = add_command(
        commands,
        "documents",
        "what the team wrote down: requirements, designs, tasks, reviews",
        "documents",
        "documents d3 > tasks.md",
        "documents d3 --take tasks.md",
        "documents r12 --check",
        "documents --understand",
    )
    documents.add_argument("what", nargs="?", help="a document or a run, such as d3 or r12; without it all are listed")
    documents.add_argument("--take", type=Path, metavar="FILE", help="store an edited document as its next version")
    documents.add_argument("--check", action="store_true", help="say which ids and names in the code lead nowhere")
    documents.add_argument("--understand", action="store_true", help="tell this repository in ten lines")
    documents.add_argument("--json", action="store_true", help="print everything as JSON")
    add_root(documents)


def add_review_code(commands: Commands) -> None:
    """Add `review-code`."""
    review = add_command(
        commands,
        "review-code",
        "tell what looks wrong in files, or in what changed since a commit; exit code 4 where something does",
        "review-code src/shop/price.py",
        "review-code --diff main --json",
    )
    review.add_argument("files", type=Path, nargs="*", metavar="FILE", help="Python files, or folders of them")
    review.add_argument("--diff", default="", metavar="REV", help="what changed since this commit, and who calls that")
    review.add_argument(
        "--no-model", action="store_true", help="tell what the rules find, without asking a model which of it is real"
    )
    review.add_argument(
        "--rules-only",
        action="store_true",
        help="have a model judge what the rules find, without reading the code for promises that it does not keep",
    )
    review.add_argument("--json", action="store_true", help="print everything as JSON")
    add_root(review)
    add_settings(review)


def add_usage(commands: Commands) -> None:
    """Add `usage`."""
    usage = add_command(
        commands,
        "usage",
        "what the models have used: tokens, calls and money",
        "usage",
        "usage --by model --days 30",
        "usage --by role,run --root . --json",
    )
    usage.add_argument(
        "--by", default="day,model", metavar="WHAT", help="day, model, role or run, several with commas; day,model"
    )
    usage.add_argument("--days", type=int, metavar="N", help="only today and the N - 1 days before it, UTC")
    usage.add_argument("--root", type=Path, metavar="DIR", help="only in this repository; else in all")
    usage.add_argument("--json", action="store_true", help="print everything as JSON")


def add_experience(commands: Commands) -> None:
    """Add `experience`."""
    experience = add_command(
        commands,
        "experience",
        "what is kept of earlier attempts here, where rolecall.experience.use has it kept",
        "experience",
        "experience e41",
        'experience --for "let total() take a tax rate" --in src/shop/price.py',
        "experience --forget e41",
    )
    experience.add_argument("what", nargs="?", help="an experience, or a run: e41, r12; without it all are listed")
    experience.add_argument(
        "--for", dest="brief", default="", metavar="BRIEF", help="show what a role would be told of it for this brief"
    )
    experience.add_argument("--in", dest="file", type=Path, metavar="FILE", help="the file of that brief")
    experience.add_argument(
        "--role", choices=("engineer", "qa_engineer"), default="engineer", help="whose brief it is; engineer"
    )
    experience.add_argument("--forget", default="", metavar="WHAT", help="delete e41, those of r12, or all; for good")
    experience.add_argument("--limit", type=int, default=20, metavar="N", help="list so many, the latest; 20")
    experience.add_argument("--json", action="store_true", help="print everything as JSON")
    add_root(experience)
    add_settings(experience)


def add_export(commands: Commands) -> None:
    """Add `export`."""
    export = add_command(
        commands,
        "export",
        "write what earlier attempts here showed as training data: verified, secrets covered",
        "export chat --to chat.jsonl --set experience.licences=MIT",
        "export preference --to pairs.jsonl",
    )
    export.add_argument(
        "format",
        choices=("chat", "preference", "trajectories", "repairs"),
        help="conversations that end well; a good answer beside a bad one; attempts with rewards; bug, why, fix",
    )
    export.add_argument("--to", type=Path, required=True, metavar="FILE", help="the file to write, a row a line")
    export.add_argument("--yes", action="store_true", help="replace that file where it is there")
    export.add_argument("--json", action="store_true", help="print what was written as JSON; asks nothing")
    add_root(export)
    add_settings(export)
