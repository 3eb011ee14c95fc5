"""Names that new code uses of what is installed: what is not there is told, and nothing that may be there."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from rolecall_analysis import Snapshot
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.proposals.evidence import GraphFinding

SHOP = {
    "shop/__init__.py": """
        from shop.cart import Cart, open_cart
        from shop import prices
        LIMIT = 3
    """,
    "shop/prices.py": """
        def total(items, *, rate: int = 0): ...
    """,
    "shop/cart.py": """
        from __future__ import annotations
        from contextlib import contextmanager

        class Base:
            def __enter__(self: T) -> T: ...
            def close(self): ...

        class Cart(Base):
            size: int = 0
            def __init__(self, owner, limit=3):
                self.owner = owner
            def add(self, item, count=1) -> Receipt: ...
            def lines(self) -> list[Receipt]: ...
            async def send(self) -> Receipt: ...

        class Receipt:
            def __init__(self):
                self.number = 3
            def print_out(self): ...

        @contextmanager
        def open_cart(owner) -> Iterator[Cart]:
            yield Cart(owner)

        def new_cart():
            cart = Cart("somebody")
            return cart
    """,
}


def install(place: Path, files: dict[str, str]) -> InstalledCode:
    for path, text in files.items():
        file = place / "site-packages" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
    (place / "lib").mkdir(parents=True, exist_ok=True)
    (place / "lib" / "os.py").write_text("save = NamedTuple = None\n", encoding="utf-8")
    return InstalledCode([place / "lib", place / "site-packages"])


def findings(installed: InstalledCode, text: str, before: str | None = None) -> tuple[GraphFinding, ...]:
    snapshot = Snapshot()
    if before is not None:
        snapshot = snapshot.with_changes({"app.py": dedent(before)})
    return check_changes(snapshot, {"app.py": dedent(text)}, installed)


def told(installed: InstalledCode, text: str) -> list[str]:
    return [f"{one.line + 1}: {one.sentence.partition('. ')[0].rstrip('.')}" for one in findings(installed, text)]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("from shop import Kart", "shop has no 'Kart'"),
        ("import shop.kart", "No module 'shop.kart' is installed for this workspace"),
        ("import shopp", "No module 'shopp' is installed for this workspace"),
        ("import shop\nshop.open_kart('me')", "shop has no 'open_kart'"),
        ("import shop as s\ns.prices.sum_up([])", "shop.prices has no 'sum_up'"),
        ("from shop import Cart\nCart('me').put(1)", "shop.cart.Cart has no 'put'"),
        ("from shop import Cart\ncart = Cart('me')\ncart.shut()", "shop.cart.Cart has no 'shut'"),
        ("from shop import Cart\nwith Cart('me') as cart:\n    cart.shut()", "shop.cart.Cart has no 'shut'"),
        ("from shop import open_cart\nwith open_cart('me') as c:\n    c.shut()", "shop.cart.Cart has no 'shut'"),
        ("from shop.cart import new_cart\nnew_cart().shut()", "shop.cart.Cart has no 'shut'"),
        ("from shop import Cart\nCart('me').add(1).print_it()", "shop.cart.Receipt has no 'print_it'"),
        ("from shop import Cart\nfor one in Cart('me').lines():\n    one.show()", "shop.cart.Receipt has no 'show'"),
        (
            "from shop import Cart\nasync def f():\n    (await Cart('me').send()).show()",
            "shop.cart.Receipt has no 'show'",
        ),
        ("from shop import Cart\ndef f(cart: Cart | None):\n    cart.shut()", "shop.cart.Cart has no 'shut'"),
        ("from shop import Cart\nclass Mine(Cart):\n    def f(self):\n        self.shut()", "app.Mine has no 'shut'"),
    ],
)
def test_what_a_package_does_not_have_is_told(tmp_path: Path, line: str, sentence: str) -> None:
    found = told(install(tmp_path, SHOP), line)
    assert found == [f"{len(line.splitlines())}: {sentence}"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import shop\nshop.prices.total([], tax=3)", "it has no parameter 'tax'."),
        ("import shop\nshop.Cart('me', max=3)", "it has no parameter 'max'."),
        ("import shop\nshop.Cart('me').add(1, number=2)", "it has no parameter 'number'."),
        ("import shop\nshop.Cart()", "it needs 'owner'."),
    ],
)
def test_a_call_that_a_package_cannot_take_is_told_with_its_header(tmp_path: Path, line: str, reason: str) -> None:
    (found,) = findings(install(tmp_path, SHOP), line)
    assert found.kind == "call that does not fit"
    assert found.certain
    assert found.sentence.endswith(reason)
    assert "def " in found.sentence


def test_names_that_come_near_are_told_with_their_signatures(tmp_path: Path) -> None:
    (found,) = findings(install(tmp_path, SHOP), "import shop\nshop.open_basket('me')\n")
    assert found.sentence == "shop has no 'open_basket'. It has: open_cart(owner) -> Iterator[Cart]."


def test_what_was_wrong_before_is_not_the_changes_doing(tmp_path: Path) -> None:
    before = "import shop\nshop.gone()\n"
    assert findings(install(tmp_path, SHOP), f"{before}shop.LIMIT\n", before) == ()


def test_an_annotation_is_no_proof_and_is_told_as_a_doubt_that_a_model_is_asked_about(tmp_path: Path) -> None:
    (found,) = findings(install(tmp_path, SHOP), "from shop import Cart\ndef f(cart: Cart):\n    cart.shut()\n")
    assert not found.certain
    assert found.is_asked_about


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from shop import Kart\nexcept ImportError:\n    Kart = None\n",
        "import sys\nif sys.version_info >= (3, 14):\n    from shop import Kart\n",
        "import shop\nfrom shop import LIMIT\nif not LIMIT:\n    from shop import Kart\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop import Kart\n",
        "import shop, contextlib\nwith contextlib.suppress(AttributeError):\n    shop.kart\n",
        "import shop\nif hasattr(shop, 'kart'):\n    shop.kart()\n",
        "import shop\nshop.kart = 3\nprint(shop.kart)\n",
        "from shop import Cart\ncart = Cart('me')\ncart.note = 3\nprint(cart.note)\n",
        "from shop import Cart\ndef f(cart):\n    cart = cart or Cart('me')\n    cart.print_out()\n",
        "from shop import Cart\ndef f(cart: Cart):\n    if isinstance(cart, dict):\n        cart.print_out()\n",
        "import shop\nfor shop in range(3):\n    shop.real\n",
        "import winreg\n",
        "import shop\ncompile('1', 'x', 'eval', dont_inherit=True)\n",
        "import shop.cart\nshop.cart.__doc__\nshop.Cart.mro()\n",
        "import shop\nmore = {}\nshop.Cart(*more, **more)\n",
    ],
)
def test_nothing_is_told_where_it_may_be_meant_or_there(tmp_path: Path, text: str) -> None:
    assert findings(install(tmp_path, SHOP), text) == ()


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("def __getattr__(name):\n    return lookup(name)\n", "dyn.anything"),
        ("globals().update(made())\n", "dyn.anything"),
        ("from elsewhere import *\n", "dyn.anything"),
        ("import sys\nsys.modules[__name__] = Lazy()\n", "dyn.anything"),
        ("class A:\n    def __getattr__(self, name): ...\n", "dyn.A().anything"),
        ("class A(Unknown): ...\n", "dyn.A().anything"),
        ("class A(metaclass=Making): ...\n", "dyn.A().anything"),
        ("@register\nclass A: ...\n", "dyn.A().anything"),
        ("class A:\n    def __init__(self, **all):\n        self.__dict__.update(all)\n", "dyn.A().anything"),
        ("class A:\n    def fill(self, k, v):\n        setattr(self, k, v)\n", "dyn.A().anything"),
        ("class A:\n    __slots__ = ('anything',)\n", "dyn.A().anything"),
        ("class A: ...\ndef f(a):\n    a.anything = 3\n", "dyn.A().anything"),
        ("class A: ...\nsetattr(A, 'anything', 3)\n", "dyn.A().anything"),
        ("import enum\nclass A(enum.Enum):\n    X = 1\n", "dyn.A.X.name"),
        ("def f(a, **others): ...\n", "dyn.f(1, b=2)"),
        ("@wrap\ndef f(a): ...\n", "dyn.f(1, 2)"),
        ("class A:\n    def __new__(cls, *a): ...\n", "dyn.A(1, 2)"),
        ("class A(Unknown):\n    pass\nclass B(A):\n    pass\n", "dyn.B(1, 2)"),
        ("if x:\n    def f(a): ...\nelse:\n    def f(a, b): ...\n", "dyn.f(1, 2)"),
        ("class A(dict): ...\n", "dyn.A().setdefault(1, 2)"),
        ("class A(Exception): ...\n", "dyn.A('what').args"),
        ("def (:\n", "dyn.anything"),
    ],
)
def test_nothing_is_told_of_what_may_have_names_that_no_text_shows(tmp_path: Path, module: str, use: str) -> None:
    installed = install(tmp_path, {"dyn.py": module, "enum.py": "class Enum:\n    name = 1\n"})
    assert findings(installed, f"import dyn\n{use}\n") == ()


@pytest.mark.parametrize("line", ["thing.fetch_all_of_it()", "thing.save(carefuly=True)", "thing[0].x.carefuly"])
def test_a_name_that_nothing_says_is_a_doubt_even_where_nothing_is_known_of_its_holder(
    tmp_path: Path, line: str
) -> None:
    (found,) = findings(install(tmp_path, SHOP), f"import shop\ndef f(thing):\n    {line}\n")
    assert found.sentence.startswith(
        "Nothing in the repository, or in the packages that this file can reach, is called"
    )
    assert not found.certain
    assert found.is_asked_about


@pytest.mark.parametrize(
    "lines",
    [
        "    thing.print_out()",
        "    thing.items()",
        "    thing.note = 3\n    print(thing.note)",
        "    setattr(thing, 'note', 3)\n    print(thing.note)",
        "    option('--dry-run')\n    print(thing.dry_run)",
        "    thing = Made(note=3)\n    print(thing.note)",
        "    thing.here()\ndef here(): ...",
        "    thing.update(dict(oauth_nonce_of_it=3), oauth_token_of_it=3)",
    ],
)
def test_a_name_that_a_package_or_the_file_itself_brings_about_is_no_doubt(tmp_path: Path, lines: str) -> None:
    text = f"import shop\nfrom typing import NamedTuple as Made, NamedTuple as option\ndef f(thing):\n{lines}\n"
    assert findings(install(tmp_path, SHOP), text) == ()


def test_what_comes_of_a_missing_name_is_told_with_it(tmp_path: Path) -> None:
    text = """
        import shop
        class Till:
            def __init__(self):
                self.cart = shop.Basket("me")
            def fill(self):
                with self.cart as cart:
                    receipt = cart.add(1)
                return receipt.print_out(paper=True)
    """
    (found,) = findings(install(tmp_path, SHOP), text)
    assert found.sentence.startswith("shop has no 'Basket'.")
    assert found.sentence.endswith("What comes of it could not be checked.")
    assert [place.line + 1 for place in found.places] == [8, 9]


def test_an_attribute_of_self_is_what_its_methods_assign(tmp_path: Path) -> None:
    text = """
        from shop import Cart
        class Till:
            def __init__(self):
                self.cart = Cart("me")
            def fill(self):
                self.cart.put(1)
    """
    assert told(install(tmp_path, SHOP), text) == ["7: shop.cart.Cart has no 'put'"]
    elsewhere = told(install(tmp_path, SHOP), f"{dedent(text)}Till().cart = 3\n")
    assert not any("Cart has no" in one for one in elsewhere)


def test_two_files_that_use_the_same_made_up_name_do_not_vouch_for_each_other(tmp_path: Path) -> None:
    use = "import shop\ndef f(thing):\n    thing.fetch_all_of_it()\n"
    installed = install(tmp_path, SHOP)
    assert len(check_changes(Snapshot(), {"one.py": use, "two.py": use}, installed)) == 2
    given = {"one.py": use, "two.py": "class Thing:\n    def fetch_all_of_it(self): ...\n"}
    assert check_changes(Snapshot(), given, installed) == ()


@pytest.mark.parametrize(
    "before",
    [
        {"clock.py": "class Clock:\n    def __init__(self):\n        self.hours_known: int = 0\n"},
        {"clock.py": "import shop\ndef f(clock):\n    return clock.hours_known\n"},
        {"use.py": "import shop\ndef f(clock):\n    return clock.hours_known\n"},
    ],
)
def test_a_name_that_stood_in_a_file_before_the_change_is_no_doubt_though_the_change_touches_that_file(
    tmp_path: Path, before: dict[str, str]
) -> None:
    snapshot = Snapshot().with_changes(before)
    use = "import shop\ndef f(clock):\n    return clock.hours_known\ndef g(clock):\n    return clock.hours_known + 1\n"
    after = {**{path: f"{text}\nLIMIT = 1\n" for path, text in before.items()}, "use.py": use}
    assert check_changes(snapshot, after, install(tmp_path, SHOP)) == ()


def test_an_attribute_that_the_change_itself_assigns_in_another_file_is_no_doubt(tmp_path: Path) -> None:
    clock = "class Clock:\n    def __init__(self):\n        self.hours_known: int = 0\n"
    use = "import shop\ndef f(clock):\n    return clock.hours_known\n"
    assert check_changes(Snapshot(), {"clock.py": clock, "use.py": use}, install(tmp_path, SHOP)) == ()


def test_a_module_that_answers_for_one_made_up_name_lacks_the_others(tmp_path: Path) -> None:
    made_up = "def __getattr__(name):\n    if name == 'old':\n        return 3\n    raise AttributeError(name)\n"
    installed = install(tmp_path, {"dyn.py": made_up})
    assert findings(installed, "import dyn\ndyn.old\n") == ()
    assert told(installed, "import dyn\ndyn.new\n") == ["2: dyn has no 'new'"]


def test_compiled_modules_and_namespace_packages_are_there(tmp_path: Path) -> None:
    installed = install(tmp_path, {"space/one.py": "X = 1\n", "fast.cpython-311-x86_64-linux-gnu.so": ""})
    assert findings(installed, "import fast\nfrom space import one\nfast.run()\none.X\n") == ()
    assert told(installed, "from space import two\n") == ["1: space has no 'two'"]


def test_where_a_hook_can_make_modules_none_is_missing(tmp_path: Path) -> None:
    installed = install(tmp_path, {"__editable__.pth": "import finder; finder.install()\n"})
    assert findings(installed, "import anything\n") == ()


def test_a_module_beside_the_file_is_not_told_of_as_missing(tmp_path: Path) -> None:
    files = {"tools/__init__.py": "", "tools/helper.py": "X = 1\n", "tools/run.py": "import helper\nhelper.X\n"}
    assert check_changes(Snapshot(), files, install(tmp_path, SHOP)) == ()


def test_a_name_that_the_repository_says_in_a_string_is_no_doubt(tmp_path: Path) -> None:
    before = Snapshot().with_changes({"settings.py": "def get(s):\n    return s['cookie_of_it']\n"})
    assert check_changes(before, {"app.py": "def f(x):\n    x(cookie_of_it=3)\n"}, install(tmp_path, SHOP)) == ()


def test_a_link_out_of_the_packages_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "__init__.py").write_text("KEY = 1\n", encoding="utf-8")
    installed = install(tmp_path, {"shop.py": ""})
    (tmp_path / "site-packages" / "away").symlink_to(tmp_path / "private")
    assert findings(installed, "import away\naway.NOT_THERE\n") == ()


def test_facts_are_kept_and_read_anew_after_an_update(tmp_path: Path) -> None:
    place, saved = tmp_path / "packages", tmp_path / "cache"
    install(place, SHOP)
    text = "import shop\nshop.prices.total([], tax=1)\n"

    def fresh() -> tuple[GraphFinding, ...]:
        return findings(InstalledCode([place / "site-packages"], saved), text)

    assert len(fresh()) == 1
    assert len(list((saved / "graph").glob("*.sqlite3"))) == 1
    (place / "site-packages" / "shop" / "prices.py").write_text("def total(items, tax): ...\n", encoding="utf-8")
    assert fresh() == ()
