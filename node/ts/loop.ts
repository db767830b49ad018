// Node's own timers, as they are when this package is loaded: test frameworks put others in their place later, which stand still.

import { setImmediate as turn } from "node:timers";
import { setTimeout as timeout } from "node:timers/promises";

// Copies: an import of a name would follow what a framework writes into Node's module.
export const nextTick = process.nextTick.bind(process);
export const atNextTurn = turn;
export const pause = timeout;
export const microtask = queueMicrotask;
