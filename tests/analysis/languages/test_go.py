"""What is read from Go."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]

SHOP = """\
// Package shop sells.
package shop

import (
    "fmt"
    j "encoding/json"
    . "example.com/shop/names"
    _ "example.com/driver"
    "example.com/price/v2"
    "gopkg.in/yaml.v3"
)

// A Cart holds lines.
type Cart struct {
    Base
    *price.Owner
    Lines []Line `json:"lines"`
    a, b  int
}

type Priced interface {
    fmt.Stringer
    Total(count int) float64
}

type Id = string

const (
    Red = iota
    Green
)

var limit, size = compute(1), 2
var _ Priced = (*Cart)(nil)

// Total sums up.
func (c *Cart) Total(count int, rest ...string) (sum float64, err error) {
    local, other := c.first(), 2
    for i, line := range c.Lines {
        line.Price()
    }
    return fmt.Sprint(price.Owner{Name: "x"}), nil
}

func (l List[T]) Push(value T) { go func(k int) { k.run() }(1) }

func New[T any](from T) *Cart { return &Cart{a: 1} }
"""


def test_definitions_have_their_receivers_as_scope(read: Read) -> None:
    facts = read("shop.go", SHOP)
    assert [(one.kind, one.qualified_name) for one in facts.definitions] == [
        ("class", "Cart"),
        ("variable", "Cart.Lines"),
        ("variable", "Cart.a"),
        ("variable", "Cart.b"),
        ("interface", "Priced"),
        ("method", "Priced.Total"),
        ("type", "Id"),
        ("variable", "Red"),
        ("variable", "Green"),
        ("variable", "limit"),
        ("variable", "size"),
        ("method", "Cart.Total"),
        ("method", "List.Push"),
        ("function", "New"),
    ]
    by_name = {one.qualified_name: one for one in facts.definitions}
    assert by_name["Cart"].bases == ("Base", "price.Owner")
    assert by_name["Priced"].bases == ("fmt.Stringer",)
    assert by_name["Cart"].signature == "type Cart struct"
    assert by_name["Cart"].docstring == "A Cart holds lines."
    total = by_name["Cart.Total"]
    assert total.signature == "func (c *Cart) Total(count int, rest ...string) (sum float64, err error)"
    assert total.docstring == "Total sums up."
    assert facts.docstring == "Package shop sells."


def test_imports_bind_the_name_of_the_package(read: Read) -> None:
    assert [(one.module, one.name, one.alias) for one in read("shop.go", SHOP).imports] == [
        ("fmt", None, "fmt"),
        ("encoding/json", None, "j"),
        ("example.com/shop/names", "*", None),
        ("example.com/driver", None, "_"),
        ("example.com/price/v2", None, "price"),
        ("gopkg.in/yaml.v3", None, "yaml"),
    ]


def test_calls_and_values_made_are_told(read: Read) -> None:
    assert [(one.callee, one.scope) for one in read("shop.go", SHOP).calls] == [
        ("compute", ""),
        ("c.first", "Cart.Total"),
        ("line.Price", "Cart.Total"),
        ("fmt.Sprint", "Cart.Total"),
        ("price.Owner", "Cart.Total"),
        ("k.run", "List.Push"),
        ("Cart", "New"),
    ]


def test_parameters_and_variables_are_local(read: Read) -> None:
    facts = read("shop.go", SHOP)
    names = {name for scope, name in facts.local_names if scope == "Cart.Total"}
    assert names == {"c", "count", "rest", "sum", "err", "local", "other", "i", "line"}
    assert "Name" not in facts.names
