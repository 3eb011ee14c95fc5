"""What is read from Ruby."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]

SHOP = """\
# frozen_string_literal: true

require "json"
require_relative "line"
require_relative "../price"

# Sells.
module Shop
  class Cart < Base::Cart
    include Enumerable, Names::Named
    LIMIT = 3
    attr_reader :size, :lines

    # Makes one.
    def self.build(size, *rest, key: 2, &block) = new(size)

    class << self
      def default; end
    end

    def total(&block)
      sum, (first, last) = 1, 2
      lines.each { |line, (a, b)| line.price.round(a) }
      refresh
      super
      Money::Euro.new(1).show
      shop&.open
      sum
    end

    alias count total
    private def hidden; end
    def ==(other); end
    def size=(value); end
  end
end

class Shop::Other; end
Point = Struct.new(:x) do
  def length; end
end
def top(cart) = cart.total
"""


def test_modules_classes_and_methods_nest(read: Read) -> None:
    facts = read("shop.rb", SHOP)
    assert [(one.kind, one.qualified_name) for one in facts.definitions] == [
        ("module", "Shop"),
        ("class", "Shop.Cart"),
        ("variable", "Shop.Cart.LIMIT"),
        ("method", "Shop.Cart.size"),
        ("method", "Shop.Cart.lines"),
        ("method", "Shop.Cart.build"),
        ("method", "Shop.Cart.default"),
        ("method", "Shop.Cart.total"),
        ("method", "Shop.Cart.count"),
        ("method", "Shop.Cart.hidden"),
        ("method", "Shop.Cart.=="),
        ("method", "Shop.Cart.size="),
        ("class", "Shop.Other"),
        ("class", "Point"),
        ("method", "Point.length"),
        ("function", "top"),
    ]
    by_name = {one.qualified_name: one for one in facts.definitions}
    assert by_name["Shop"].docstring == "Sells."
    assert by_name["Shop.Cart"].bases == ("Base.Cart", "Enumerable", "Names.Named")
    assert by_name["Shop.Cart"].signature == "class Cart < Base::Cart"
    assert by_name["Shop.Cart.build"].signature == "def self.build(size, *rest, key: 2, &block)"
    assert by_name["Shop.Cart.build"].docstring == "Makes one."
    assert by_name["Shop.Cart.total"].signature == "def total(&block)"
    assert facts.docstring == ""


def test_files_that_are_required(read: Read) -> None:
    assert [(one.module, one.name) for one in read("shop.rb", SHOP).imports] == [
        ("json", "*"),
        ("./line", "*"),
        ("../price", "*"),
    ]


def test_a_name_that_nothing_binds_is_a_call(read: Read) -> None:
    facts = read("shop.rb", SHOP)
    assert [one.callee for one in facts.calls if one.scope == "Shop.Cart.total"] == [
        "lines.each",
        "lines",
        "line.price.round",
        "line.price",
        "refresh",
        "super",
        "?.show",
        "Money.Euro.new",
        "shop.open",
        "shop",
    ]
    assert [one.callee for one in facts.calls if one.scope == "top"] == ["cart.total"]
    assert {name for scope, name in facts.local_names if scope == "Shop.Cart.total"} == {
        *("block", "sum", "first", "last", "line", "a", "b"),
    }
