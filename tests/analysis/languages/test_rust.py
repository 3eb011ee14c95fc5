"""What is read from Rust."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]

SHOP = """\
//! Sells.
use std::collections::{HashMap, self, hash_map::Entry as Slot};
use crate::price::*;
pub use self::line::Line;
use super::names as n;
extern crate regex as re;
mod line;

/// Holds lines.
#[derive(Debug, Clone)]
pub struct Cart<T> { pub lines: Vec<T>, size: usize }

pub enum Color { Red, Mixed { share: f64 } }

pub trait Priced: Named {
    const LIMIT: usize;
    fn total(&self) -> f64;
    fn show(&self) { self.total(); }
}

impl<T> Cart<T> {
    pub const EMPTY: usize = 0;
    pub fn new(size: usize) -> Self {
        let Some(first) = start() else { return };
        Self { lines: Vec::<T>::new(), size }
    }
}

impl<T> fmt::Display for Cart<T> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let add = |a, b| a + b;
        match self.kind { Kind::One(value) if value > LOW => value.run()?.end(), None => 1 };
        write!(f, "{}", self.lines.total(add)?)
    }
}

type Id = u32;
macro_rules! lines { ($x:expr) => { f($x) } }

mod inner { pub fn helper() {} }
"""


def test_blocks_of_impl_hold_the_methods_of_their_type(read: Read) -> None:
    facts = read("shop.rs", SHOP)
    assert [(one.kind, one.qualified_name) for one in facts.definitions] == [
        ("class", "Cart"),
        ("variable", "Cart.lines"),
        ("variable", "Cart.size"),
        ("class", "Color"),
        ("variable", "Color.Red"),
        ("variable", "Color.Mixed"),
        ("variable", "Color.Mixed.share"),
        ("interface", "Priced"),
        ("variable", "Priced.LIMIT"),
        ("method", "Priced.total"),
        ("method", "Priced.show"),
        ("variable", "Cart.EMPTY"),
        ("method", "Cart.new"),
        ("method", "Cart.fmt"),
        ("type", "Id"),
        ("macro", "lines"),
        ("module", "inner"),
        ("function", "inner.helper"),
    ]
    by_name = {one.qualified_name: one for one in facts.definitions}
    cart = by_name["Cart"]
    assert (cart.docstring, cart.decorators, cart.bases) == (
        "Holds lines.",
        ("derive(Debug, Clone)",),
        ("fmt.Display",),
    )
    assert cart.signature == "pub struct Cart<T>"
    assert by_name["Priced"].bases == ("Named",)
    assert by_name["Cart.new"].signature == "pub fn new(size: usize) -> Self"
    assert by_name["lines"].signature == "macro_rules! lines"
    assert facts.docstring == "Sells."


def test_use_declarations_are_told_name_by_name(read: Read) -> None:
    assert [(one.module, one.name, one.alias) for one in read("shop.rs", SHOP).imports] == [
        ("std::collections", "HashMap", None),
        ("std", "collections", None),
        ("std::collections::hash_map", "Entry", "Slot"),
        ("crate::price", "*", None),
        ("self::line", "Line", None),
        ("super", "names", "n"),
        ("regex", None, "re"),
        ("self::line", None, "line"),
    ]


def test_calls_are_found_in_macros_too(read: Read) -> None:
    assert [(one.callee, one.scope) for one in read("shop.rs", SHOP).calls] == [
        ("self.total", "Priced.show"),
        ("start", "Cart.new"),
        ("Self", "Cart.new"),
        ("Vec.new", "Cart.new"),
        ("?.end", "Cart.fmt"),
        ("value.run", "Cart.fmt"),
        ("write", "Cart.fmt"),
        ("self.lines.total", "Cart.fmt"),
    ]


def test_patterns_bind_names_and_read_constants(read: Read) -> None:
    facts = read("shop.rs", SHOP)
    assert {name for scope, name in facts.local_names if scope == "Cart.fmt"} == {"f", "add", "a", "b", "value"}
    assert ("Cart.new", "first") in facts.local_names
    names = {one.name for one in facts.references}
    assert {"Some", "Kind.One", "None", "LOW"} <= names
