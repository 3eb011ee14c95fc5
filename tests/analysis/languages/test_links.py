"""What a name means, and where an import leads, in languages other than Python."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest

from rolecall_analysis.languages import language_of, read_facts
from rolecall_analysis.languages.resolution.code import OtherCode, code_of
from rolecall_analysis.languages.resolution.imports import ImportTargets, imported_files
from rolecall_analysis.languages.resolution.names import targets


def code(files: Mapping[str, str]) -> OtherCode:
    """The code of a workspace, in which some files are build files."""
    texts = {path: textwrap.dedent(text) for path, text in files.items()}
    facts = {path: read_facts(path, text, found) for path, text in texts.items() if (found := language_of(path))}
    return code_of(facts, texts.get)


def link(found: OtherCode, path: str, callee: str) -> tuple[list[str], bool, str]:
    """What the only call of *callee* in the file reaches: definitions, whether for certain, and by which rule."""
    (scope,) = {call.scope for call in found.files[path].calls if call.callee == callee}
    meaning = targets(found, path, scope, callee)
    return [f"{one.path}:{one.qualified_name}" for one in meaning.definitions], meaning.certain, meaning.rule


def imports(found: OtherCode, path: str) -> list[tuple[str, tuple[str, ...], bool]]:
    """Modules as written in the file, the files they lead to, and whether for certain."""
    files = [(one.module, imported_files(found.project, path, one)) for one in found.files[path].imports]
    return [(module, one.paths, one.certain) for module, one in files]


def test_script_imports_are_found_with_their_suffix_or_index() -> None:
    found = code(
        {
            "src/main.ts": """
                import { a } from "./price";
                import { b } from "./cart";
                import { c } from "../lib/old.js";
                import { d } from "@/deep/line";
                import { e } from "@acme/money";
                import { f } from "@acme/money/round";
                import { g } from "react";
            """,
            "src/price.tsx": "",
            "src/cart/index.ts": "",
            "lib/old.ts": "",
            "src/deep/line.ts": "",
            "packages/money/src/index.ts": "",
            "packages/money/src/round.ts": "",
            "packages/money/package.json": '{"name": "@acme/money", "main": "dist/index.js"}',
            "tsconfig.json": '{ // where\n "compilerOptions": {"paths": {"@/*": ["./src/*"],},}, }',
        }
    )
    assert imports(found, "src/main.ts") == [
        ("./price", ("src/price.tsx",), True),
        ("./cart", ("src/cart/index.ts",), True),
        ("../lib/old.js", ("lib/old.ts",), True),
        ("@/deep/line", ("src/deep/line.ts",), True),
        ("@acme/money", ("packages/money/src/index.ts",), True),
        ("@acme/money/round", ("packages/money/src/round.ts",), True),
        ("react", (), True),
    ]


def test_a_go_package_is_a_folder_of_the_module() -> None:
    found = code(
        {
            "go.mod": "module example.com/shop\n\ngo 1.22\n",
            "main.go": 'package main\nimport (\n"fmt"\n"example.com/shop/price"\n"example.com/other/price"\n)\n',
            "price/money.go": "package price\n",
            "price/round.go": "package price\n",
            "price/money_test.go": "package price\n",
        }
    )
    assert imports(found, "main.go") == [
        ("fmt", (), True),
        ("example.com/shop/price", ("price/money.go", "price/round.go"), True),
        ("example.com/other/price", (), True),
    ]


def test_rust_paths_follow_the_tree_of_modules() -> None:
    found = code(
        {
            "Cargo.toml": '[package]\nname = "my-shop"\n',
            "src/lib.rs": "mod cart;\nmod price;\n",
            "src/cart.rs": "use crate::price::Money;\nuse super::price;\nmod line;\n",
            "src/cart/line.rs": "use super::Cart;\nuse crate::cart;\n",
            "src/price/mod.rs": "",
            "src/main.rs": "use my_shop::cart::Cart;\nuse std::fmt;\n",
        }
    )
    assert [paths for _, paths, _ in imports(found, "src/lib.rs")] == [("src/cart.rs",), ("src/price/mod.rs",)]
    assert [paths for _, paths, _ in imports(found, "src/cart.rs")] == [
        ("src/price/mod.rs",),
        ("src/price/mod.rs",),
        ("src/cart/line.rs",),
    ]
    assert [paths for _, paths, _ in imports(found, "src/cart/line.rs")] == [("src/cart.rs",), ("src/cart.rs",)]
    assert [paths for _, paths, _ in imports(found, "src/main.rs")] == [("src/cart.rs",), ()]


def test_java_and_php_names_are_folders_and_a_file() -> None:
    found = code(
        {
            "app/src/com/acme/Main.java": "import com.acme.price.Money;\nimport static com.acme.price.Money.round;\n"
            "import com.acme.price.*;\nimport java.util.List;\n",
            "app/src/com/acme/price/Money.java": "class Money {}",
            "composer.json": '{"autoload": {"psr-4": {"App\\\\": "lib/"}}}',
            "lib/Main.php": "<?php use App\\Price\\Money; require __DIR__ . '/Price/Money.php';",
            "lib/Price/Money.php": "<?php namespace App\\Price; class Money {}",
        }
    )
    money = ("app/src/com/acme/price/Money.java",)
    assert [paths for _, paths, _ in imports(found, "app/src/com/acme/Main.java")] == [money, money, money, ()]
    assert [(paths, certain) for _, paths, certain in imports(found, "lib/Main.php")] == [
        (("lib/Price/Money.php",), True),
        (("lib/Price/Money.php",), True),
    ]


def test_includes_and_requires_are_found_by_path_then_by_the_end_of_it() -> None:
    found = code(
        {
            "src/a/main.c": '#include "near.h"\n#include "far.h"\n#include "shop/deep.h"\n#include <stdio.h>\n',
            "src/a/near.h": "",
            "include/far.h": "",
            "include/shop/deep.h": "",
            "lib/shop/cart.rb": 'require_relative "line"\nrequire "shop/price"\nrequire "json"\n',
            "lib/shop/line.rb": "",
            "lib/shop/price.rb": "",
        }
    )
    assert imports(found, "src/a/main.c") == [
        ("near.h", ("src/a/near.h",), True),
        ("far.h", ("include/far.h",), True),
        ("shop/deep.h", ("include/shop/deep.h",), True),
        ("<stdio.h>", (), False),
    ]
    assert [paths for _, paths, _ in imports(found, "lib/shop/cart.rb")] == [
        ("lib/shop/line.rb",),
        ("lib/shop/price.rb",),
        (),
    ]
    first = found.files["src/a/main.c"].imports[0]
    assert imported_files(found.project, "src/a/main.c", first) == ImportTargets(("src/a/near.h",), certain=True)


def test_script_names_are_followed_through_imports_and_reexports() -> None:
    found = code(
        {
            "main.ts": """
                import make, { total as sum } from "./shop";
                import * as price from "./price";
                const { open } = require("./door");
                function main() {
                    make(); sum(); price.round(); open(); here();
                    const local = () => 1; local();
                    unknown(); shop.total(); Math.max();
                }
                function here() {}
            """,
            "shop.ts": 'export * from "./price";\nexport { add as total } from "./add";\n'
            "export default function create() {}\n",
            "add.ts": "export function add() {}\n",
            "price.ts": "export const round = () => 1;\nexport class Shop { total() {} }\n",
            "door.js": "exports.open = function () {};\n",
        }
    )
    assert link(found, "main.ts", "make") == (["shop.ts:create"], True, "import")
    assert link(found, "main.ts", "sum") == (["add.ts:add"], True, "import")
    assert link(found, "main.ts", "price.round") == (["price.ts:round"], True, "import")
    assert link(found, "main.ts", "open") == (["door.js:open"], True, "import")
    assert link(found, "main.ts", "here") == (["main.ts:here"], True, "name in scope")
    assert link(found, "main.ts", "local") == (["main.ts:main.local"], True, "name in scope")
    assert link(found, "main.ts", "Math.max") == ([], True, "import")


def test_members_of_this_are_found_in_the_class_and_its_bases() -> None:
    found = code(
        {
            "cart.ts": """
                import { Base } from "./base";
                export class Cart extends Base {
                    constructor() { super(); }
                    total() { this.sum(); this.round(); super.show(); this.nothing(); helper(); }
                    sum() {}
                    helper() {}
                }
            """,
            "base.ts": "export class Base { constructor() {} round() {} show() {} }\n",
        }
    )
    assert link(found, "cart.ts", "this.sum") == (["cart.ts:Cart.sum"], True, "attribute of self")
    assert link(found, "cart.ts", "this.round") == (["base.ts:Base.round"], True, "inherited")
    assert link(found, "cart.ts", "super.show") == (["base.ts:Base.show"], True, "super")
    assert link(found, "cart.ts", "super") == (["base.ts:Base.constructor"], True, "super")
    assert link(found, "cart.ts", "helper") == ([], False, "same name")


def test_a_member_of_an_unknown_value_is_possible_first_in_types_the_file_mentions() -> None:
    found = code(
        {
            "main.ts": 'import { Cart } from "./cart";\nfunction run(a: Cart, b) { b.total(); b.rare(); }\n',
            "cart.ts": "export class Cart { total() {} }\n",
            "other.ts": "export class Other { total() {} rare() {} }\n",
        }
    )
    assert link(found, "main.ts", "b.total") == (["cart.ts:Cart.total"], False, "same name")
    assert link(found, "main.ts", "b.rare") == (["other.ts:Other.rare"], False, "same name")


def test_go_sees_the_package_the_receiver_and_what_is_embedded() -> None:
    found = code(
        {
            "go.mod": "module example.com/shop\n",
            "cart.go": """
                package shop
                import "example.com/shop/price"
                type Cart struct { Base }
                func (c *Cart) Total() { c.add(); c.round(); price.Of(); helper(); len(); c.lines.Run() }
            """,
            "more.go": "package shop\nfunc (c *Cart) add() {}\nfunc helper() {}\ntype Base struct{}\n",
            "base.go": "package shop\nfunc (b Base) round() {}\n",
            "price/price.go": "package price\nfunc Of() {}\nfunc helper() {}\n",
        }
    )
    assert link(found, "cart.go", "c.add") == (["more.go:Cart.add"], True, "attribute of self")
    assert link(found, "cart.go", "c.round") == (["base.go:Base.round"], True, "inherited")
    assert link(found, "cart.go", "price.Of") == (["price/price.go:Of"], True, "import")
    assert link(found, "cart.go", "helper") == (["more.go:helper"], True, "name in scope")
    assert link(found, "cart.go", "len") == ([], True, "import")


def test_a_member_of_a_type_of_another_package_is_elsewhere() -> None:
    found = code(
        {
            "go.mod": "module example.com/shop\n",
            "cart.go": 'package shop\nimport "testing"\ntype Cart struct{}\nfunc (c Cart) Run() {}\n'
            "func TestCart(t *testing.T) { t.Run() }\n",
        }
    )
    assert link(found, "cart.go", "t.Run") == ([], True, "import")


def test_rust_follows_use_self_and_the_module_around_tests() -> None:
    found = code(
        {
            "src/lib.rs": "mod cart;\nmod price;\n",
            "src/price.rs": "pub fn round() {}\npub struct Money;\nimpl Money { pub fn new() -> Self { Money } }\n",
            "src/cart.rs": """
                use crate::price::{self, round, Money};
                pub struct Cart;
                impl Cart {
                    pub fn total(&self) { self.sum(); Self::make(); round(); price::round(); Money::new(); Vec::new(); }
                    fn sum(&self) {}
                    fn make() {}
                }
                fn helper() {}
                mod tests {
                    use super::*;
                    fn check() { helper(); }
                }
            """,
        }
    )
    assert link(found, "src/cart.rs", "self.sum") == (["src/cart.rs:Cart.sum"], True, "attribute of self")
    assert link(found, "src/cart.rs", "Self.make") == (["src/cart.rs:Cart.make"], True, "attribute of self")
    assert link(found, "src/cart.rs", "round") == (["src/price.rs:round"], True, "import")
    assert link(found, "src/cart.rs", "price.round") == (["src/price.rs:round"], True, "import")
    assert link(found, "src/cart.rs", "Money.new") == (["src/price.rs:Money.new"], True, "attribute")
    assert link(found, "src/cart.rs", "Vec.new") == ([], True, "import")
    assert link(found, "src/cart.rs", "helper") == (["src/cart.rs:helper"], True, "name in scope")


def test_java_sees_members_inherited_ones_the_package_and_static_imports() -> None:
    found = code(
        {
            "com/acme/Cart.java": """
                package com.acme;
                import com.acme.price.Money;
                import static com.acme.price.Money.round;
                class Cart extends Base {
                    void total() { add(); show(); Money.of(); round(); Line.make(); Double.valueOf(); }
                    void add() {}
                }
            """,
            "com/acme/Base.java": "class Base { void show() {} }",
            "com/acme/Line.java": "class Line { static void make() {} }",
            "com/acme/price/Money.java": "public class Money { static void of() {} static void round() {} }",
        }
    )
    path = "com/acme/Cart.java"
    assert link(found, path, "add") == (["com/acme/Cart.java:Cart.add"], True, "attribute of self")
    assert link(found, path, "show") == (["com/acme/Base.java:Base.show"], True, "inherited")
    assert link(found, path, "Money.of") == (["com/acme/price/Money.java:Money.of"], True, "attribute")
    assert link(found, path, "round") == (["com/acme/price/Money.java:Money.round"], True, "import")
    assert link(found, path, "Line.make") == (["com/acme/Line.java:Line.make"], True, "attribute")
    assert link(found, path, "Double.valueOf") == ([], True, "import")


def test_c_follows_includes_to_the_prototype_and_its_definition() -> None:
    found = code(
        {
            "main.c": '#include "cart.h"\nint main(void) { return total(1) + local() + printf("x"); }\n'
            "static int local(void) { return 0; }\n",
            "cart.h": "int total(int count);\n",
            "cart.c": '#include "cart.h"\nint total(int count) { return count; }\n',
            "other.c": "static int total(int count) { return 0; }\nstatic int local(void) { return 1; }\n",
        }
    )
    assert link(found, "main.c", "total") == (["cart.c:total", "cart.h:total"], True, "name in scope")
    assert link(found, "main.c", "local") == (["main.c:local"], True, "name in scope")
    assert link(found, "main.c", "printf") == ([], False, "same name")


def test_cpp_members_are_found_from_outside_of_their_class() -> None:
    found = code(
        {
            "cart.hpp": "namespace shop { struct Base { void show(); };\n"
            "class Cart : public Base { int total(); int sum(); }; int helper(); }\n",
            "cart.cpp": '#include "cart.hpp"\n'
            "int shop::Cart::total() { return sum() + this->sum() + shop::helper(); }\n"
            "int shop::Cart::sum() { show(); return 1; }\n",
        }
    )
    both = ["cart.cpp:shop.Cart.sum", "cart.hpp:shop.Cart.sum"]
    for callee in ("sum", "this.sum"):
        names, certain, rule = link(found, "cart.cpp", callee)
        assert (sorted(names), certain, rule) == (both, True, "attribute of self")
    assert link(found, "cart.cpp", "show") == (["cart.hpp:shop.Base.show"], True, "inherited")
    assert link(found, "cart.cpp", "shop.helper")[:2] == (["cart.hpp:shop.helper"], True)


def test_csharp_sees_its_namespaces_and_the_parts_of_a_class() -> None:
    found = code(
        {
            "Cart.cs": """
                using Shop.Pricing;
                namespace Shop.Carts { partial class Cart : Base {
                    void Total() { Add(); this.More(); Show(); Money.Of(); new Line(); Console.Write(); }
                    void Add() {}
                } }
            """,
            "Cart.More.cs": "namespace Shop.Carts { partial class Cart { void More() {} } class Line {} }",
            "Money.cs": "namespace Shop.Pricing; static class Money { public static void Of() {} }",
            "Base.cs": "namespace Shop; class Base { protected void Show() {} }",
        }
    )
    assert link(found, "Cart.cs", "Add") == (["Cart.cs:Shop.Carts.Cart.Add"], True, "attribute of self")
    assert link(found, "Cart.cs", "this.More") == (["Cart.More.cs:Shop.Carts.Cart.More"], True, "attribute of self")
    assert link(found, "Cart.cs", "Show") == (["Base.cs:Shop.Base.Show"], True, "inherited")
    assert link(found, "Cart.cs", "Money.Of") == (["Money.cs:Shop.Pricing.Money.Of"], True, "attribute")
    assert link(found, "Cart.cs", "Line") == (["Cart.More.cs:Shop.Carts.Line"], True, "name in scope")
    assert link(found, "Cart.cs", "Console.Write") == ([], True, "import")


def test_ruby_sees_modules_that_are_mixed_in_and_classes_that_are_opened_again() -> None:
    found = code(
        {
            "lib/cart.rb": """
                module Shop
                  class Cart < Base
                    include Counted
                    def total
                      add
                      count
                      self.more
                      Line.new
                      Shop::Line.make
                      lines.each
                    end
                    def add; end
                  end
                end
            """,
            "lib/more.rb": "module Shop\n  class Cart\n    def more; end\n  end\n"
            "  class Base\n    def total; end\n  end\n"
            "  module Counted\n    def count; end\n  end\n  class Line\n    def self.make; end\n  end\nend\n",
        }
    )
    assert link(found, "lib/cart.rb", "add") == (["lib/cart.rb:Shop.Cart.add"], True, "attribute of self")
    assert link(found, "lib/cart.rb", "count") == (["lib/more.rb:Shop.Counted.count"], True, "inherited")
    assert link(found, "lib/cart.rb", "self.more") == (["lib/more.rb:Shop.Cart.more"], True, "attribute of self")
    assert link(found, "lib/cart.rb", "Shop.Line.make") == (["lib/more.rb:Shop.Line.make"], True, "attribute")


def test_php_sees_its_namespace_uses_and_traits() -> None:
    found = code(
        {
            "Cart.php": """<?php
                namespace App\\Shop;
                use App\\Price\\Money as M;
                class Cart extends Base {
                    use Counted;
                    function total() {
                        $this->add(); $this->count(); self::make(); parent::show(); M::of(); new Line(); strlen(1);
                    }
                    function add() {}
                    static function make() {}
                }
            """,
            "Base.php": "<?php namespace App\\Shop; class Base { function show() {} } class Line {}",
            "Counted.php": "<?php namespace App\\Shop; trait Counted { function count() {} }",
            "Money.php": "<?php namespace App\\Price; class Money { static function of() {} }",
        }
    )
    assert link(found, "Cart.php", "$this.add") == (["Cart.php:App.Shop.Cart.add"], True, "attribute of self")
    assert link(found, "Cart.php", "$this.count") == (["Counted.php:App.Shop.Counted.count"], True, "inherited")
    assert link(found, "Cart.php", "self.make") == (["Cart.php:App.Shop.Cart.make"], True, "attribute of self")
    assert link(found, "Cart.php", "parent.show") == (["Base.php:App.Shop.Base.show"], True, "super")
    assert link(found, "Cart.php", "M.of") == (["Money.php:App.Price.Money.of"], True, "attribute")
    assert link(found, "Cart.php", "Line") == (["Base.php:App.Shop.Line"], True, "name in scope")


@pytest.mark.parametrize(
    ("path", "text", "callee"),
    [
        ("a.ts", "class Shop { open() {} }\nfunction run(n: number, it?: Shop) { it.open(); }\n", "it.open"),
        ("a.ts", "class Shop { open() {} }\nclass A { s: Shop; run() { this.s.open(); } }\n", "this.s.open"),
        ("A.java", "class Shop { void open() {} }\nclass A { void run(final Shop it) { it.open(); } }\n", "it.open"),
        ("A.java", "class Shop { void open() {} }\nclass A { private Shop s; void run() { s.open(); } }\n", "s.open"),
        ("A.cs", "class Shop { void open() {} }\nclass A { Shop S { get; } void Run() { S.open(); } }\n", "S.open"),
        (
            "a.go",
            "package a\ntype Shop struct{}\nfunc (s *Shop) open() {}\nfunc run(a, it *Shop) { it.open() }\n",
            "it.open",
        ),
        ("a.rs", "struct Shop;\nimpl Shop { fn open(&self) {} }\nfn run(it: &mut Shop) { it.open(); }\n", "it.open"),
        ("a.cpp", "struct Shop { void open(); };\nvoid run(int n, const Shop& it) { it.open(); }\n", "it.open"),
        ("a.php", "<?php class Shop { function open() {} } function run(?Shop $it) { $it->open(); }", "$it.open"),
    ],
)
def test_a_member_of_a_value_of_declared_type_is_that_types(path: str, text: str, callee: str) -> None:
    other = text.replace("Shop", "Other").replace("run", "walk").replace("class A", "class B")
    suffix = path.partition(".")[2]
    found = code({path: text, f"other/other.{suffix}": other})
    assert link(found, path, callee) == ([f"{path}:Shop.open"], True, "attribute")


@pytest.mark.parametrize("text", ["lines: Line[]", "lines: A | Line", "lines: Map<A, Line>", "lines"])
def test_a_type_that_is_not_one_name_is_not_followed(text: str) -> None:
    found = code({"a.ts": f"class Line {{ total() {{}} }}\nfunction run({text}) {{ lines.total(); }}\n"})
    assert link(found, "a.ts", "lines.total") == (["a.ts:Line.total"], False, "same name")


def test_circles_of_imports_and_bases_end() -> None:
    found = code(
        {
            "a.ts": 'export * from "./b";\nexport class A extends B { run() { this.x(); } }\n'
            'import { B } from "./b";\n',
            "b.ts": 'export * from "./a";\nimport { A } from "./a";\nexport class B extends A {}\n'
            'import { gone } from "./a";\nfunction f() { gone(); }\n',
        }
    )
    assert link(found, "a.ts", "this.x") == ([], False, "same name")
    assert link(found, "b.ts", "gone")[0] == []


@pytest.mark.parametrize("name", ["package.json", "tsconfig.json", "composer.json", "Cargo.toml", "go.mod"])
@pytest.mark.parametrize("text", ["", "{", "[1]", '{"compilerOptions": 1, "name": 2, "autoload": []}', "[" * 10_000])
def test_a_broken_build_file_says_nothing(name: str, text: str) -> None:
    found = code({name: text, "a.ts": 'import "b";\n', "a.php": "<?php use B\\C;", "a.rs": "use b::c;", "a.go": ""})
    for path in ("a.ts", "a.php", "a.rs"):
        assert [paths for _, paths, _ in imports(found, path)] == [()]
