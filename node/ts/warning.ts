/** What a program should know and no call can tell it; `code` as in Node's own warnings. */
export type WarningCode =
  "DLOCK_COLLECTED" | "DLOCK_UNCLOSED" | "DLOCK_RELEASE_FAILED" | "DLOCK_JOB_FAILED" | "DLOCK_CONSUMER";

export function warn(code: WarningCode, message: string): void {
  process.emitWarning(`libdlock: ${message}`, { type: "DlockWarning", code });
}
