"""What is read from C and C++."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]


def kinds(facts: FileFacts) -> list[tuple[str, str]]:
    return [(one.kind, one.qualified_name) for one in facts.definitions]


def test_c_has_functions_types_macros_and_variables(read: Read) -> None:
    facts = read(
        "cart.c",
        """
        #ifndef CART_H
        #define CART_H
        #include "line.h"
        #include <stdio.h>
        #define LIMIT 3
        #define MAX(a, b) ((a) > (b) ? (a) : (b))
        /* Holds lines. */
        typedef struct cart { int size, *sizes; int (*compare)(int); } cart_t;
        typedef struct { int x; } point_t;
        typedef int (*handler)(int);
        enum color { RED, GREEN = 2 };
        static int total(cart_t *cart);
        extern int shared;
        int width = 3, sizes[LIMIT];
        static const char *name_of(struct cart *cart) {
            int first = cart->lines->price, second;
            cart->compare(1);
            (*cart).compare(2);
            return show(first, &second);
        }
        #ifdef FAST
        int fast(void) { return (int) total(0); }
        #endif
        #endif
        """,
    )
    assert kinds(facts) == [
        ("macro", "LIMIT"),
        ("macro", "MAX"),
        ("class", "cart"),
        ("type", "cart_t"),
        ("variable", "cart.size"),
        ("variable", "cart.sizes"),
        ("variable", "cart.compare"),
        ("class", "point_t"),
        ("variable", "point_t.x"),
        ("type", "handler"),
        ("class", "color"),
        ("variable", "color.RED"),
        ("variable", "color.GREEN"),
        ("function", "total"),
        ("variable", "shared"),
        ("variable", "width"),
        ("variable", "sizes"),
        ("function", "name_of"),
        ("function", "fast"),
    ]
    by_name = {one.qualified_name: one for one in facts.definitions}
    assert by_name["cart"].docstring == "Holds lines."
    assert by_name["name_of"].signature == "static const char *name_of(struct cart *cart)"
    assert [(one.callee, one.scope) for one in facts.calls] == [
        ("cart.compare", "name_of"),
        ("?.compare", "name_of"),
        ("show", "name_of"),
        ("total", "fast"),
    ]
    assert [(one.module, one.name) for one in facts.imports] == [("line.h", "*"), ("<stdio.h>", "*")]
    assert ("name_of", "second") in facts.local_names


def test_cpp_members_are_found_inside_and_outside_of_their_class(read: Read) -> None:
    facts = read(
        "cart.cpp",
        """
        namespace shop::inner {
        /// Holds lines.
        template <class T> class Cart : public Base<T>, private names::Named {
        public:
            Cart(int size);
            ~Cart();
            virtual int total() const = 0;
            int size() const { return this->size_ + other.count(); }
            Cart& operator+=(const Cart& other);
            operator bool() const;
            enum class Color { Red };
            using Item = T;
            friend class Other;
        private:
            std::vector<int> lines = make<int>(1);
        };
        namespace { int hidden; }
        }
        int shop::inner::Cart::total() const { return helper::sum<int>(lines.begin()); }
        Cart::Cart(int size) : size_(size) {}
        template <typename T> T List<T>::first(T start, int at = 2) {
            auto add = [&](int a) { return a; };
            for (auto& line : lines) line->price();
            return new Line(start);
        }
        bool operator==(const Line& a, const Line& b) { return a.same(b); }
        """,
    )
    assert kinds(facts) == [
        ("module", "shop.inner"),
        ("class", "shop.inner.Cart"),
        ("method", "shop.inner.Cart.Cart"),
        ("method", "shop.inner.Cart.~Cart"),
        ("method", "shop.inner.Cart.total"),
        ("method", "shop.inner.Cart.size"),
        ("method", "shop.inner.Cart.operator+="),
        ("method", "shop.inner.Cart.operator bool"),
        ("class", "shop.inner.Cart.Color"),
        ("variable", "shop.inner.Cart.Color.Red"),
        ("type", "shop.inner.Cart.Item"),
        ("variable", "shop.inner.Cart.lines"),
        ("variable", "shop.inner.hidden"),
        ("method", "shop.inner.Cart.total"),
        ("method", "Cart.Cart"),
        ("method", "List.first"),
        ("function", "operator=="),
    ]
    cart = facts.definitions[1]
    assert (cart.bases, cart.docstring) == (("Base", "names.Named"), "Holds lines.")
    assert cart.signature == "template <class T> class Cart : public Base<T>, private names::Named"
    assert [(one.callee, one.scope) for one in facts.calls] == [
        ("other.count", "shop.inner.Cart.size"),
        ("make", "shop.inner.Cart"),
        ("helper.sum", "shop.inner.Cart.total"),
        ("lines.begin", "shop.inner.Cart.total"),
        ("line.price", "List.first"),
        ("Line", "List.first"),
        ("a.same", "operator=="),
    ]


@pytest.mark.parametrize("path", ["a.c", "a.h", "a.cc", "a.cpp", "a.cxx", "a.hpp", "a.hh"])
def test_every_kind_of_file_is_read(read: Read, path: str) -> None:
    assert kinds(read(path, "int total(void) { return 1; }\n")) == [("function", "total")]


def test_a_prototype_in_a_function_is_a_variable(read: Read) -> None:
    facts = read("a.cpp", "void f() { Cart cart(size); }\n")
    assert kinds(facts) == [("function", "f")]
    assert ("f", "cart") in facts.local_names


def test_macros_that_only_annotate_do_not_hide_definitions(read: Read) -> None:
    facts = read(
        "a.hpp",
        """
        SHOP_NAMESPACE_BEGIN
        namespace detail
        {
        SHOP_API int (*first)(int a) SHOP_ATTR;
        SHOP_EXPORT class Cart { SHOP_INLINE int size(); };
        }
        SHOP_NAMESPACE_END
        """,
    )
    assert kinds(facts) == [
        ("module", "detail"),
        ("variable", "detail.first"),
        ("class", "detail.Cart"),
        ("method", "detail.Cart.size"),
    ]


def test_a_header_without_anything_of_cpp_is_read_as_c(read: Read) -> None:
    facts = read("a.h", "SHOP_API int (open) (State *class);\nstruct new { int delete; };\n")
    assert kinds(facts) == [("function", "open"), ("class", "new"), ("variable", "new.delete")]
