// The facts of api/ and tests/vectors, which every language checks against.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The repository, of whose `node/tests` these are a copy (see run-tests.sh). */
export const ROOT = process.env.DLOCK_ROOT;

export const vectorFile = (name) => {
  const [fact, vector] = ["api", "tests/vectors"].map((folder) => join(ROOT, folder, `${name}.json`));
  return JSON.parse(readFileSync(existsSync(fact) ? fact : vector, "utf8"));
};
export const vectors = (name) => vectorFile(name)[name];
