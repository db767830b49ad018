// Finds the native library, which Node loads as it loads CommonJS. It is looked for from this package, or from the bundle that this
// has become a part of, and then from the program: a bundle may lie in a folder of its own.

import { here } from "./here.js";
import type { Binding } from "./native.js";
import { PLATFORMS, requireNative } from "./platforms.js";

export const binding = load();

function load(): Binding {
  const { platform, arch } = process;
  // Which one is installed npm decides, by each package's `os`, `cpu` and `libc`. A tree for several platforms has more than one.
  const [first, second] = platform === "linux" ? [`linux-${arch}-gnu`, `linux-${arch}-musl`] : [`${platform}-${arch}`];
  let failure: unknown;
  for (const target of [first, second]) {
    for (const from of [here, process.argv[1]]) {
      if (from === undefined || target === undefined) continue;
      const packageName = `libdlock-${target}`;
      try {
        const binding = requireNative(from, target);
        if (binding !== undefined) return binding as Binding;
      } catch (cause) {
        // Of a library that is there and does not load more can be said than of one that is missing.
        if (failure === undefined || !isMissing(cause, packageName)) failure = cause;
        if (!isMissing(cause, packageName)) break;
      }
    }
  }
  const target = second !== undefined && usesMusl() ? second : first;
  throw new Error(explain(failure, `${platform} ${arch}`, target), { cause: failure });
}

function explain(cause: unknown, here: string, target: string): string {
  const packageName = `libdlock-${target}`;
  if (!PLATFORMS.includes(target)) {
    return `libdlock has no native library for ${here}. It is built for ${PLATFORMS.join(", ")}.`;
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
