"""A change as who tests it may see it: what can be called, and nothing of how it is done."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.messages.interface import interface_of
from rolecall_server.workspace import Workspace
from support.workspaces import write_workspace

CART = '''"""Carts."""
LIMIT: int = 3
_SECRET = 7


class Cart:
    """What is bought."""

    owner: str = ""

    def __init__(self, owner):
        self.things = ["hidden"]

    @property
    def total(self) -> int:
        """The sum."""

        def rounded(x):
            return x

        return rounded(LIMIT * 17)

    def _check(self):
        return "private"


def empty(cart: Cart) -> None:
    """Take everything out."""
    cart.things.clear()
'''


def shown(folder: Path, before: dict[str, str], **edits: object) -> str:
    workspace = Workspace(write_workspace(folder / "work", before or {"a.txt": ""}))
    return interface_of(Edits.model_validate(edits), workspace)


def test_a_new_file_shows_what_can_be_used_from_outside(tmp_path: Path) -> None:
    text = shown(tmp_path, {}, files={"shop/cart.py": CART})
    assert text.startswith("## shop/cart.py, new")
    for there in (
        "LIMIT: int = 3",
        "class Cart",
        '"""What is bought."""',
        "owner: str",
        "@property",
        "def total(self)",
    ):
        assert there in text
    for hidden in ("_SECRET", "hidden", "rounded", "17", "private", "_check", "clear"):
        assert hidden not in text


def test_of_a_file_that_is_there_what_stays_is_left_out(tmp_path: Path) -> None:
    changed = CART.replace("cart.things.clear()", "del cart.things[:]")
    text = shown(tmp_path, {"shop/cart.py": CART}, files={"shop/cart.py": changed})
    assert text.startswith("## shop/cart.py, changed")
    assert "def empty(cart: Cart) -> None" in text
    assert "class Cart" not in text
    assert "del cart" not in text


def test_a_package_says_what_it_gives_away_and_a_file_what_becomes_of_it(tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "from shop.cart import Cart, empty as clear\n",
        "old.py": None,
        "shop/a.py": None,
        "shop/b.py": "x = 1\n",
    }
    text = shown(
        tmp_path, {"old.py": "x = 1\n", "shop/a.py": "x = 1\n"}, files=files, renames={"shop/a.py": "shop/b.py"}
    )
    assert "# gives away: Cart, clear" in text
    assert "## old.py\n\nIt is deleted." in text
    assert "## shop/b.py, renamed from shop/a.py" in text
    assert "shop/a.py\n" not in text.replace("renamed from shop/a.py", "")


def test_tests_and_files_that_are_no_code_are_named_only(tmp_path: Path) -> None:
    text = shown(
        tmp_path, {}, files={"tests/test_a.py": "def test_a():\n    assert 1\n", "README.md": "# Shop\n\nText.\n"}
    )
    assert "## tests/test_a.py, new" in text
    assert "## README.md, new" in text
    assert "assert" not in text
    assert "Text." not in text


@given(st.text(max_size=300), st.sampled_from(["a.py", "a.js", "a.go", "a", "b/c.toml"]))
def test_no_text_keeps_it_from_answering(text: str, path: str) -> None:
    assert interface_of(Edits(files={path: text}), Workspace(Path("/nowhere"))).startswith(f"## {path}, new")
