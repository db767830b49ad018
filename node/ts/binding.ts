// Finds the native library, which Node loads as it loads CommonJS. It is looked for from this package, or from the bundle that this
// has become a part of, and then from the program: a bundle may lie in a folder of its own.

import { createRequire } from "node:module";

import { here } from "./here.js";
import type { Binding } from "./native.js";

// What is built. Which of them is installed npm decides, by each package's `os`, `cpu` and `libc`.
const SUPPORTED = ["linux-x64-gnu", "linux-arm64-gnu"];

export const binding = load();

function load(): Binding {
  const { platform, arch } = process;
  const target = platform === "linux" ? `linux-${arch}-gnu` : `${platform}-${arch}`;
  const packageName = `libdlock-${target}`;
  let failure: unknown;
  for (const from of [here, process.argv[1]]) {
    if (from === undefined) continue;
    try {
      return createRequire(from)(packageName) as Binding;
    } catch (cause) {
      failure ??= cause;
      if (!isMissing(cause, packageName)) break;
    }
  }
  throw new Error(explain(failure, `${platform} ${arch}`, target, packageName), { cause: failure });
}

function explain(cause: unknown, here: string, target: string, packageName: string): string {
  if (!SUPPORTED.includes(target) || usesMusl()) {
    const libc = usesMusl() ? " with musl" : "";
    return `libdlock has no native library for ${here}${libc}. It is built for ${SUPPORTED.join(" and ")}.`;
  }
  if (!isMissing(cause, packageName)) {
    return `libdlock's native library for ${here} (package ${packageName}) does not load: ${String(cause)}`;
  }
  return (
    `libdlock's native library for ${here} is in the package ${packageName}, which is not installed. npm leaves it ` +
    "out with --omit=optional, and when node_modules or package-lock.json come from another platform. Delete both and " +
    `run npm install on this platform without that option, or install ${packageName} in the same version as libdlock.`
  );
}

// Asked only when something is wrong: the report takes milliseconds.
function usesMusl(): boolean {
  if (process.platform !== "linux") return false;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}

function isMissing(cause: unknown, packageName: string): boolean {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  return code === "MODULE_NOT_FOUND" && String(message).includes(packageName);
}
