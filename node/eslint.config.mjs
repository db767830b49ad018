// typescript-eslint's strictest sets for the package, its ordinary ones for tests and scripts.

import { defineConfig } from "eslint/config";
import { configs } from "typescript-eslint";

export default defineConfig(
  {
    files: ["**/*.ts", "**/*.cts"],
    extends: [configs.strictTypeChecked, configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      // The bridge brings values of which only the operation that asked knows the type: one parameter, named by the caller.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      // A signal's reason is whatever its owner said.
      "@typescript-eslint/only-throw-error": "off",
    },
  },
  {
    files: ["**/*.mjs", "**/*.cjs"],
    extends: [configs.recommended, configs.stylistic],
    rules: { "@typescript-eslint/no-require-imports": "off" },
  },
);
