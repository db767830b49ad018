// The compilers of TypeScript that the declarations are for.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { ROOT } from "./vectors.mjs";

export const TOOLS = join(ROOT, "node/node_modules");

/** The program, with its first arguments, that checks types with the compiler of that name as tsc does, for Node. */
export const tsc = (compiler) =>
  compiler === "typescript-oldest"
    ? [fileURLToPath(new URL("../programs/types.mjs", import.meta.url)), join(TOOLS, compiler, "lib/typescript.js")]
    : [join(TOOLS, compiler, "bin/tsc")];
