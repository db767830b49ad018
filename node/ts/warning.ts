/** What a program should know and no call can tell it; `code` as in Node's own warnings. */
export function warn(code: "DLOCK_COLLECTED" | "DLOCK_UNCLOSED" | "DLOCK_RELEASE_FAILED", message: string): void {
  process.emitWarning(`libdlock: ${message}`, { type: "DlockWarning", code });
}
