"""Which module imports which: rules, and the same answer as grimp on installed packages."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import grimp
import pytest

from rolecall_analysis import Snapshot, import_graph
from support.graph import snapshot_from

PACKAGES = ("anyio", "attr", "cattrs", "click", "grimp", "pluggy", "_pytest", "pygls", "rich")


def test_every_form_of_import_counts_and_names_the_nearest_module() -> None:
    snapshot = snapshot_from("""
        #- src/shop/__init__.py
        from .price import total
        from . import tax as duty
        #- src/shop/price.py
        import shop.tax, json
        if TYPE_CHECKING:
            from shop.deep.late import Late
        def f():
            from .deep import *
        try:
            from .fast import total
        except ImportError:
            from .slow import total
        #- src/shop/tax.py
        import shop
        from shop import price, VERSION
        #- src/shop/slow.py
        from elsewhere import shop
        from .. import other
        #- src/shop/deep/late.py
        from ..price import (
            total as t,
        )
        from ... import nothing
        #- src/shop/deep/__init__.py
        from . import late
        #- src/shop/space/a.py
        from . import b
        from .b import x
        #- src/shop/space/b.py
        import shop.space
        """)
    assert import_graph(snapshot, "src/shop") == {
        "shop": {"shop.price", "shop.tax"},
        "shop.price": {"shop.tax", "shop.deep.late", "shop.deep", "shop.slow"},
        "shop.tax": {"shop", "shop.price"},
        "shop.slow": set(),
        "shop.deep": {"shop.deep.late"},
        "shop.deep.late": {"shop.price"},
        "shop.space.a": {"shop.space.b"},
        "shop.space.b": set(),
    }


def test_a_folder_that_is_a_package_itself_has_a_graph_of_the_modules_in_it() -> None:
    snapshot = Snapshot().with_changes({"__init__.py": "import a\n", "a.py": "import b\n", "b.py": ""})
    assert import_graph(snapshot) == {"a": {"b"}, "b": set()}


def test_a_part_of_the_repository_has_a_graph_of_its_own() -> None:
    snapshot = snapshot_from("""
        #- shop/__init__.py
        #- shop/price.py
        import tools.steps
        #- tools/steps.py
        import shop.price
        """)
    assert import_graph(snapshot, "shop") == {"shop": set(), "shop.price": set()}
    assert import_graph(snapshot)["shop.price"] == {"tools.steps"}
    assert import_graph(snapshot, "missing") == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_graph_of_an_installed_package_is_that_of_grimp(package: str) -> None:
    folder = package_folder(package)
    paths = {path.relative_to(folder.parent).as_posix(): path for path in folder.rglob("*.py")}
    texts = {path: found.read_text(encoding="utf-8") for path, found in paths.items()}
    graph = grimp.build_graph(package, cache_dir=None)
    theirs = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ours = import_graph(Snapshot().with_changes(texts), package)
    # grimp leaves out folders without an __init__, and what the running Python cannot parse; it has modules that
    # import themselves.
    unseen = {module for module in ours if module not in theirs}
    assert all(not has_initialisers(folder.parent, module) for module in unseen)
    unparsed = {module for module in ours if not is_parsed(texts, module)}
    for module in ours.keys() - unseen - unparsed:
        assert ours[module] - unseen == theirs[module] - {module}, module


def package_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def has_initialisers(root: Path, module: str) -> bool:
    parts = module.split(".")
    return all((root / Path(*parts[:n]) / "__init__.py").exists() for n in range(1, len(parts)))


def is_parsed(texts: dict[str, str], module: str) -> bool:
    stem = module.replace(".", "/")
    try:
        ast.parse(texts.get(f"{stem}.py") or texts.get(f"{stem}/__init__.py", ""))
    except SyntaxError:
        return False
    return True
