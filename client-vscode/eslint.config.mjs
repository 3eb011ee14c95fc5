// What is held of the client's code besides its types: promises that are awaited, conditions that can be false, no `any`.

import { defineConfig } from "eslint/config";
import { configs } from "typescript-eslint";

export default defineConfig(
  { ignores: ["dist/", "bundled/", "node_modules/", "**/*.mjs"] },
  configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { project: ["./tsconfig.json", "./tsconfig.pages.json"], tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", name: ["test", "suite", "it", "describe"], package: "node:test" }] }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Whatever has a dispose() is a Disposable to VS Code, and no function of ours knows a `this`.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/unbound-method": "off",
      eqeqeq: "error",
    },
  },
);
