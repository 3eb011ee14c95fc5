"""What is read from PHP."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]

SHOP = """\
<html><?php
namespace App\\Shop;

use App\\Base\\{Thing, Other as O};
use App\\Price;
use function App\\helper as h;
require_once __DIR__ . '/line.php';

/** Holds lines. */
#[Entity] abstract class Cart extends Base implements Priced, \\Names\\Named
{
    use Counted;
    const LIMIT = 3;
    private ?int $size = 1;
    public function __construct(private Shop $shop, int ...$rest) { parent::__construct(); }
    public static function make(): self { return new static(); }
    abstract function name();
    public function total(Line $line): int
    {
        foreach ($this->lines as $key => $each) { $each->price()->round(); }
        $add = fn($x) => $x + 1;
        [$a, $b] = pair();
        self::make();
        Money::of($line);
        \\strlen(1);
        $line?->close(amount: new O());
        try {} catch (\\Exception $error) {}
        return $add($this->size);
    }
}
interface Priced { function total(); }
trait Counted { function count() {} }
enum Suit: string { case Hearts = 'H'; function label() {} }
function open(int $door, $other = 2) { return $door; }
define('OLD', 1);
$shared = 3;
"""


def test_definitions_stand_in_their_namespace(read: Read) -> None:
    facts = read("shop.php", SHOP)
    assert [(one.kind, one.qualified_name.removeprefix("App.Shop.")) for one in facts.definitions] == [
        ("module", "App.Shop"),
        ("class", "Cart"),
        ("variable", "Cart.LIMIT"),
        ("variable", "Cart.size"),
        ("method", "Cart.__construct"),
        ("variable", "Cart.shop"),
        ("method", "Cart.make"),
        ("method", "Cart.name"),
        ("method", "Cart.total"),
        ("interface", "Priced"),
        ("method", "Priced.total"),
        ("class", "Counted"),
        ("method", "Counted.count"),
        ("class", "Suit"),
        ("variable", "Suit.Hearts"),
        ("method", "Suit.label"),
        ("function", "open"),
        ("variable", "OLD"),
        ("variable", "$shared"),
    ]
    cart = facts.definitions[1]
    assert cart.bases == ("Base", "Priced", "Names.Named", "Counted")
    assert (cart.decorators, cart.docstring) == (("Entity",), "Holds lines.")
    assert cart.signature == "abstract class Cart extends Base implements Priced, \\Names\\Named"
    assert facts.definitions[8].signature == "public function total(Line $line): int"


def test_uses_and_files_that_are_required(read: Read) -> None:
    assert [(one.module, one.name, one.alias) for one in read("shop.php", SHOP).imports] == [
        ("App\\Base", "Thing", None),
        ("App\\Base", "Other", "O"),
        ("App", "Price", None),
        ("App", "helper", "h"),
        ("./line.php", "*", None),
    ]


def test_calls_of_functions_methods_and_classes(read: Read) -> None:
    facts = read("shop.php", SHOP)
    assert [(one.callee, one.scope.removeprefix("App.Shop.")) for one in facts.calls] == [
        ("parent.__construct", "Cart.__construct"),
        ("static", "Cart.make"),
        ("?.round", "Cart.total"),
        ("$each.price", "Cart.total"),
        ("pair", "Cart.total"),
        ("self.make", "Cart.total"),
        ("Money.of", "Cart.total"),
        ("strlen", "Cart.total"),
        ("$line.close", "Cart.total"),
        ("O", "Cart.total"),
        ("$add", "Cart.total"),
        ("define", "App.Shop"),
    ]
    locals_ = {name for scope, name in facts.local_names if scope.endswith("Cart.total")}
    assert locals_ == {"$line", "$key", "$each", "$add", "$x", "$a", "$b", "$error"}


def test_namespaces_with_braces(read: Read) -> None:
    facts = read("two.php", "<?php namespace A { class X {} } namespace B { function f() {} }\n")
    assert [one.qualified_name for one in facts.definitions] == ["A", "A.X", "B", "B.f"]
