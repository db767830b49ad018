// Finds the native library. CommonJS in both builds, because that is how Node loads an addon.

import { createRequire } from "node:module";

import type { Binding } from "./native.js";

// What is built. Which of them is installed npm decides, by each package's `os`, `cpu` and `libc`.
const SUPPORTED = ["linux-x64-gnu", "linux-arm64-gnu"];

export const binding = load();

function load(): Binding {
  const { platform, arch } = process;
  const target = platform === "linux" ? `linux-${arch}-gnu` : `${platform}-${arch}`;
  const packageName = `libdlock-${target}`;
  try {
    return createRequire(__filename)(packageName) as Binding;
  } catch (cause) {
    throw new Error(explain(cause, `${platform} ${arch}`, target, packageName), { cause });
  }
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
