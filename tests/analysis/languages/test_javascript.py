"""What is read from JavaScript and TypeScript."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rolecall_analysis.values import FileFacts, Position, Span

Read = Callable[[str, str], FileFacts]


def kinds(facts: FileFacts) -> list[tuple[str, str]]:
    return [(one.kind, one.qualified_name) for one in facts.definitions]


def imports(facts: FileFacts) -> list[tuple[str, str | None, str | None]]:
    return [(one.module, one.name, one.alias) for one in facts.imports]


def calls(facts: FileFacts) -> list[tuple[str, str]]:
    return [(one.callee, one.scope) for one in facts.calls]


def test_functions_bound_to_names_are_functions(read: Read) -> None:
    facts = read(
        "cart.js",
        """
        export const total = (lines) => lines.length;
        const round = function (value) { return value; };
        let later = async () => {};
        function* each() {}
        export default function () {}
        const LIMIT = 3;
        """,
    )
    assert kinds(facts) == [
        ("function", "total"),
        ("function", "round"),
        ("function", "later"),
        ("function", "each"),
        ("function", "default"),
        ("variable", "LIMIT"),
    ]
    assert facts.definitions[0].signature == "export const total = (lines)"


def test_a_class_has_its_methods_fields_and_bases(read: Read) -> None:
    facts = read(
        "cart.ts",
        """
        export abstract class Cart<T> extends base.Cart<T> implements Priced, Named {
            private lines: Line[] = [];
            static #count = 0;
            handle = () => this.total();
            constructor(private readonly shop: Shop, size: number) { super(size); }
            get total(): number { return this.sum(this.lines); }
            abstract name(): string;
        }
        """,
    )
    assert kinds(facts) == [
        ("class", "Cart"),
        ("variable", "Cart.lines"),
        ("variable", "Cart.#count"),
        ("method", "Cart.handle"),
        ("method", "Cart.constructor"),
        ("variable", "Cart.shop"),
        ("method", "Cart.total"),
        ("method", "Cart.name"),
    ]
    assert facts.definitions[0].bases == ("base.Cart", "Priced", "Named")
    assert facts.definitions[6].signature == "get total(): number"
    assert calls(facts) == [
        ("this.total", "Cart.handle"),
        ("super", "Cart.constructor"),
        ("this.sum", "Cart.total"),
    ]


def test_interfaces_types_enums_and_namespaces_have_members(read: Read) -> None:
    facts = read(
        "shop.ts",
        """
        export interface Priced extends Named { price: number; total(count: number): number }
        type Money = { amount: number };
        type Id = string;
        enum Color { Red = 1, Green }
        namespace Shop.Inner { export function open() {} }
        declare module "other" { export const there: number }
        """,
    )
    assert kinds(facts) == [
        ("interface", "Priced"),
        ("variable", "Priced.price"),
        ("method", "Priced.total"),
        ("type", "Money"),
        ("variable", "Money.amount"),
        ("type", "Id"),
        ("class", "Color"),
        ("variable", "Color.Red"),
        ("variable", "Color.Green"),
        ("module", "Shop.Inner"),
        ("function", "Shop.Inner.open"),
        ("variable", "there"),
    ]
    assert facts.definitions[5].signature == "type Id = string"


def test_functions_in_an_object_are_its_methods(read: Read) -> None:
    facts = read(
        "routes.js",
        """
        const routes = {
            open() { greet(); },
            close: () => {},
            "list": function () {},
            inner: { deep() {} },
            size: 3,
        };
        module.exports = { start() {}, stop: () => {}, routes };
        """,
    )
    assert kinds(facts) == [
        ("variable", "routes"),
        ("method", "routes.open"),
        ("method", "routes.close"),
        ("method", "routes.list"),
        ("method", "routes.inner.deep"),
        ("method", "start"),
        ("function", "stop"),
    ]
    assert calls(facts) == [("greet", "routes.open")]


def test_assignments_to_exports_and_prototypes_define(read: Read) -> None:
    facts = read(
        "legacy.js",
        """
        exports.total = function () {};
        Cart.prototype.add = function add(line) { this.lines.push(line); };
        Cart.create = () => new Cart();
        Cart.prototype = { clear() {} };
        exports.LIMIT = 3;
        module.exports.Line = class { price() {} };
        """,
    )
    assert kinds(facts) == [
        ("function", "total"),
        ("method", "Cart.add"),
        ("method", "Cart.create"),
        ("method", "Cart.clear"),
        ("variable", "LIMIT"),
        ("class", "Line"),
        ("method", "Line.price"),
    ]
    assert calls(facts) == [("this.lines.push", "Cart.add"), ("Cart", "Cart.create")]


def test_every_form_of_import_is_told(read: Read) -> None:
    facts = read(
        "main.ts",
        """
        import cart, { total as sum, type Line } from "./cart";
        import * as price from "./price";
        import "./setup";
        import fs = require("fs");
        export { one as two } from "./one";
        export * from "./all";
        export * as named from "./named";
        const { open, close: shut } = require("./door");
        const door = require("./door"), key = require("./door").key;
        const late = await import("./late");
        """,
    )
    assert imports(facts) == [
        ("./cart", "default", "cart"),
        ("./cart", "total", "sum"),
        ("./cart", "Line", None),
        ("./price", None, "price"),
        ("./setup", None, None),
        ("fs", None, "fs"),
        ("./one", "one", "two"),
        ("./all", "*", None),
        ("./named", None, "named"),
        ("./door", "open", None),
        ("./door", "close", "shut"),
        ("./door", None, "door"),
        ("./door", "key", "key"),
        ("./late", None, "late"),
    ]


def test_the_name_of_an_import_is_where_it_is_written(read: Read) -> None:
    (imported,) = read("main.ts", 'import { total as sum } from "./cart";\n').imports
    assert imported.name_span == Span(Position(0, 9), Position(0, 14))


def test_a_component_in_jsx_is_called_and_a_tag_is_not(read: Read) -> None:
    facts = read(
        "page.tsx",
        """
        export const Page = ({ lines }: Props) => (
            <ui.Frame title={title(lines)}><div><Total value={sum} /></div></ui.Frame>
        );
        """,
    )
    assert kinds(facts) == [("function", "Page")]
    assert calls(facts) == [("ui.Frame", "Page"), ("title", "Page"), ("Total", "Page")]
    assert ("Page", "lines") in facts.local_names
    assert "div" not in facts.names


def test_calls_have_dotted_names_and_the_scope_they_stand_in(read: Read) -> None:
    facts = read(
        "calls.ts",
        """
        function main(shop: Shop) {
            shop?.open();
            a.b.c(1)!.d();
            lines[0].total();
            (shop as Other).close();
            new Cart<Line>(shop);
            later(() => inner());
        }
        """,
    )
    assert calls(facts) == [
        ("shop.open", "main"),
        ("?.d", "main"),
        ("a.b.c", "main"),
        ("?.total", "main"),
        ("?.close", "main"),
        ("Cart", "main"),
        ("later", "main"),
        ("inner", "main"),
    ]


def test_the_value_of_a_variable_belongs_to_it(read: Read) -> None:
    facts = read("store.ts", "export const store = create(() => ({ load: () => fetch(url) }));\n")
    assert calls(facts) == [("create", "store"), ("fetch", "store")]


def test_a_comment_above_a_definition_is_its_text(read: Read) -> None:
    facts = read(
        "doc.ts",
        """
        // Copyright somebody.

        /**
         * The sum of all lines,
         * rounded.
         */
        @once({ a: 1 })
        export class Total {
            // How much.
            amount = 1; // not about the next
            other = 2;
        }
        """,
    )
    total, amount, other = facts.definitions
    assert total.docstring == "The sum of all lines,\nrounded."
    assert total.decorators == ("once({ a: 1 })",)
    assert total.signature == "export class Total"
    assert (amount.docstring, other.docstring) == ("How much.", "")
    assert facts.docstring == ""


@pytest.mark.parametrize("path", ["a.js", "a.jsx", "a.mjs", "a.cjs", "a.ts", "a.tsx", "a.mts", "a.cts"])
def test_every_kind_of_file_is_read(read: Read, path: str) -> None:
    assert kinds(read(path, "function total() {}\n")) == [("function", "total")]


def test_every_occurrence_of_a_name_has_its_place(read: Read) -> None:
    facts = read("a.js", "price.total;\nprice . total;\n")
    (reference,) = facts.references
    assert reference.name == "price.total"
    assert reference.places == (0, 0, 0, 6, 1, 0, 1, 8)


def test_columns_count_characters(read: Read) -> None:
    facts = read("a.js", "f('漢漢', total());\n")
    assert [one.span.start for one in facts.calls] == [Position(0, 0), Position(0, 8)]
    assert facts.references[1].places == (0, 8)
