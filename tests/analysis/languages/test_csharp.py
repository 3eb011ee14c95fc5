"""What is read from C#."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]

SHOP = """\
using System;
using static Shop.Money;
using Price = Shop.Pricing.Price;
namespace Shop.Carts
{
    /// Holds lines.
    [Serializable] public class Cart<T> : Base<T>, IPriced where T : class
    {
        private int size = Compute(), other;
        public const int Limit = 3;
        public int Count { get; set; }
        public int Total => Sum(size);
        public int Full { get { return Get(); } }
        public Cart(int size, params int[] rest) : base(size) { this.size = size; }
        public async Task<int> AddAsync(Line line)
        {
            var lines = new List<Line>();
            foreach (var each in lines) { each.Price().Round(); }
            line?.Close();
            int Local(int k) => k;
            if (line is Special special && map.TryGet(out var found)) {}
            return lines.Select(x => x.Rank).Sum<int>(Local);
        }
        public event EventHandler Changed;
        public int this[int at] => at;
        public static Cart<T> operator +(Cart<T> a, Cart<T> b) => a;
        public static implicit operator int(Cart<T> cart) => 1;
        ~Cart() {}
        int IPriced.Price() => 1;
        delegate void Handler(int a);
    }
    interface IPriced { int Price(); }
    struct Point { public int X; }
    enum Color { Red = 1, Green }
    record Pair(int Left, int Right);
}
"""


def test_definitions_stand_in_their_namespace(read: Read) -> None:
    facts = read("Cart.cs", SHOP)
    assert [(one.kind, one.qualified_name.removeprefix("Shop.Carts.")) for one in facts.definitions] == [
        ("module", "Shop.Carts"),
        ("class", "Cart"),
        ("variable", "Cart.size"),
        ("variable", "Cart.other"),
        ("variable", "Cart.Limit"),
        ("variable", "Cart.Count"),
        ("method", "Cart.Total"),
        ("method", "Cart.Full"),
        ("method", "Cart.Cart"),
        ("method", "Cart.AddAsync"),
        ("function", "Cart.AddAsync.Local"),
        ("variable", "Cart.Changed"),
        ("method", "Cart.this"),
        ("method", "Cart.operator +"),
        ("method", "Cart.operator int"),
        ("method", "Cart.~Cart"),
        ("method", "Cart.Price"),
        ("type", "Cart.Handler"),
        ("interface", "IPriced"),
        ("method", "IPriced.Price"),
        ("class", "Point"),
        ("variable", "Point.X"),
        ("class", "Color"),
        ("variable", "Color.Red"),
        ("variable", "Color.Green"),
        ("class", "Pair"),
        ("variable", "Pair.Left"),
        ("variable", "Pair.Right"),
    ]
    cart = facts.definitions[1]
    assert (cart.bases, cart.decorators, cart.docstring) == (("Base", "IPriced"), ("Serializable",), "Holds lines.")
    assert cart.signature == "public class Cart<T> : Base<T>, IPriced where T : class"
    assert facts.definitions[6].signature == "public int Total"


def test_a_namespace_without_braces_holds_what_follows(read: Read) -> None:
    facts = read("Cart.cs", "using A;\nnamespace Shop.Carts;\nclass Cart { void Add() {} }\n")
    assert [one.qualified_name for one in facts.definitions] == ["Shop.Carts", "Shop.Carts.Cart", "Shop.Carts.Cart.Add"]


def test_usings_and_calls(read: Read) -> None:
    facts = read("Cart.cs", SHOP)
    assert [(one.module, one.name, one.alias) for one in facts.imports] == [
        ("System", "*", None),
        ("Shop.Money", "*", None),
        ("Shop.Pricing", "Price", "Price"),
    ]
    assert [(one.callee, one.scope.removeprefix("Shop.Carts.")) for one in facts.calls] == [
        ("Compute", "Cart.size"),
        ("Sum", "Cart.Total"),
        ("Get", "Cart.Full"),
        ("List", "Cart.AddAsync"),
        ("?.Round", "Cart.AddAsync"),
        ("each.Price", "Cart.AddAsync"),
        ("line.Close", "Cart.AddAsync"),
        ("map.TryGet", "Cart.AddAsync"),
        ("?.Sum", "Cart.AddAsync"),
        ("lines.Select", "Cart.AddAsync"),
    ]
    locals_ = {name for scope, name in facts.local_names if scope.endswith("AddAsync")}
    assert locals_ == {"line", "lines", "each", "special", "found", "x"}
