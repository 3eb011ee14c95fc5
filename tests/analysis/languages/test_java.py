"""What is read from Java."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]

SHOP = """\
package com.acme.shop;

import java.util.List;
import com.acme.price.*;
import static com.acme.price.Money.round;
import static com.acme.price.Names.*;

/** Holds lines. */
@Entity(name = "cart")
public class Cart<T> extends Base<T> implements Priced, names.Named {
    private int size = compute(), other;
    static final int LIMIT = 3;

    public Cart(int size, String... rest) { super(size); this.size = size; }

    @Override
    public int total(final Shop shop) {
        List<Line> lines = new ArrayList<>();
        for (Line line : lines) { line.price().add(LIMIT); }
        try (Door door = open()) {} catch (IOException | Closed error) {}
        run(item -> item.go(), Line::name);
        return new Comparator<Line>() { public int compare(Line a) { return a.rank(); } }.hash();
    }

    enum Color { RED { void paint() {} }, GREEN }
    interface Inner { void close(); int K = 1; }
    record Point(int x, int y) {}
    @interface Mark { int value() default 1; }
}
"""


def test_definitions_nest(read: Read) -> None:
    facts = read("Cart.java", SHOP)
    assert [(one.kind, one.qualified_name) for one in facts.definitions] == [
        ("class", "Cart"),
        ("variable", "Cart.size"),
        ("variable", "Cart.other"),
        ("variable", "Cart.LIMIT"),
        ("method", "Cart.Cart"),
        ("method", "Cart.total"),
        ("method", "Cart.total.compare"),
        ("class", "Cart.Color"),
        ("variable", "Cart.Color.RED"),
        ("method", "Cart.Color.RED.paint"),
        ("variable", "Cart.Color.GREEN"),
        ("interface", "Cart.Inner"),
        ("method", "Cart.Inner.close"),
        ("variable", "Cart.Inner.K"),
        ("class", "Cart.Point"),
        ("variable", "Cart.Point.x"),
        ("variable", "Cart.Point.y"),
        ("interface", "Cart.Mark"),
        ("method", "Cart.Mark.value"),
    ]
    cart = facts.definitions[0]
    assert cart.bases == ("Base", "Priced", "names.Named")
    assert cart.decorators == ('Entity(name = "cart")',)
    assert cart.signature == "public class Cart<T> extends Base<T> implements Priced, names.Named"
    assert cart.docstring == "Holds lines."
    total = facts.definitions[5]
    assert (total.signature, total.decorators) == ("public int total(final Shop shop)", ("Override",))


def test_imports_name_a_type_a_member_or_all(read: Read) -> None:
    assert [(one.module, one.name) for one in read("Cart.java", SHOP).imports] == [
        ("java.util", "List"),
        ("com.acme.price", "*"),
        ("com.acme.price.Money", "round"),
        ("com.acme.price.Names", "*"),
    ]


def test_calls_constructions_and_method_references(read: Read) -> None:
    facts = read("Cart.java", SHOP)
    assert [(one.callee, one.scope) for one in facts.calls] == [
        ("compute", "Cart.size"),
        ("super", "Cart.Cart"),
        ("ArrayList", "Cart.total"),
        ("?.add", "Cart.total"),
        ("line.price", "Cart.total"),
        ("open", "Cart.total"),
        ("run", "Cart.total"),
        ("item.go", "Cart.total"),
        ("?.hash", "Cart.total"),
        ("Comparator", "Cart.total"),
        ("a.rank", "Cart.total.compare"),
    ]
    names = {one.name for one in facts.references}
    assert {"Line.name", "IOException", "Closed", "Override", "Entity"} <= names
    locals_ = {name for scope, name in facts.local_names if scope == "Cart.total"}
    assert locals_ == {"shop", "lines", "line", "door", "error", "item"}
