import assert from "node:assert/strict";
import { test } from "node:test";

import { mayNeedTests } from "../src/pythonFiles.ts";

test("tests are written for a folder's code, and not for its tests and their set-up", () => {
  const asked = ["shop/price.py", "shop/__main__.py", "shop/latest.py", "größe #1/a b.py"];
  assert.deepEqual(asked.filter((path) => !mayNeedTests(path)), []);
  const passedOver = ["tests/helper.py", "shop/test_price.py", "shop/price_test.py", "conftest.py", "setup.py", "shop/tests.py", "readme.md"];
  assert.deepEqual(passedOver.filter(mayNeedTests), []);
});
