import { Inject } from "@nestjs/common";
import { ModuleRef } from "@nestjs/core";
import { isObservable, lastValueFrom } from "rxjs";

import type { AcquireOptions } from "../acquiring.js";
import {
  type About,
  type ReadersOf,
  abortSignal,
  boolean,
  callback,
  duration,
  readOptions,
  words,
} from "../arguments.js";
import { objectName, tagOf } from "../convert.js";
import { DlockError } from "../error.js";
import type { LockOptions } from "../lock.js";
import { libdlockOf } from "./libdlock.js";

/** How a method takes its lock. */
export interface LockedOptions extends LockOptions, AcquireOptions {
  /** The name of the LibdlockModule, if it has one. */
  client?: string | undefined;
  /**
   * What a call gets that did not have the lock within `waitMs`: what this function returns. Without it the call rejects with
   * `DLOCK_BUSY`. It is given the error and what the method was called with.
   */
  onBusy?: ((error: DlockError, ...args: never[]) => unknown) | undefined;
}

const READERS = {
  waitMs: duration,
  leaseMs: duration,
  watchdogLeaseMs: duration,
  reentrant: boolean,
  signal: abortSignal,
  client: words,
  onBusy: callback,
} satisfies ReadersOf<LockedOptions>;

type Method = (this: Instance, ...args: unknown[]) => unknown;
type Instance = Record<typeof MODULES, ModuleRef | undefined>;

const MODULES = Symbol("libdlock: where the client is found");
/** Classes that have a reference to the modules already. */
const injected = new WeakSet<object>();

/**
 * Runs a method of a controller or of any other provider while a lock is held; the method then returns a promise. The name is a text,
 * or made of what the method is called with. Of a method of a handler that is decorated further, such as with `@Get()` or `@Cron()`,
 * either order will do.
 */
export function Locked<Args extends unknown[]>(
  name: string | ((...args: Args) => string),
  options?: LockedOptions,
): <M extends (...args: Args) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  const about: About = { op: "Locked" };
  if (typeof name !== "function") objectName(name, about.op);
  const read = readOptions(options, READERS, "@Locked(name, options)", about);
  const { client: module, onBusy, ...given } = { ...options, ...read };
  return (target, key, descriptor: { value?: unknown }) => {
    const method = descriptor.value as Method | undefined;
    if (typeof method !== "function") throw new TypeError(`@Locked is for methods, and ${String(key)} is none`);
    const refused = (why: string) => new TypeError(`@Locked is for methods of instances, and ${String(key)} is ${why}`);
    if (typeof target === "function") throw refused("static");
    if (tagOf(method).endsWith("GeneratorFunction")) throw refused("a generator, which runs after it has returned");
    if (!injected.has(target)) Inject(ModuleRef)(target, MODULES);
    injected.add(target);

    const wrapper: Method = async function (...args) {
      const modules = this[MODULES];
      if (!modules)
        throw new Error(`@Locked works on what Nest makes, and not on an object of your own: ${String(key)}()`);
      const wanted = typeof name === "function" ? name(...(args as Args)) : name;
      const state = { isRunning: false };
      const run = (): unknown => {
        state.isRunning = true;
        const result = method.apply(this, args);
        return isObservable(result) ? lastValueFrom(result) : result;
      };
      try {
        return await libdlockOf(modules, module).client.withLock(wanted, given, run);
      } catch (error) {
        const isBusy = !state.isRunning && error instanceof DlockError && error.kind === "BUSY";
        if (!isBusy || !onBusy) throw error;
        return (onBusy as (error: DlockError, ...args: unknown[]) => unknown)(error, ...args);
      }
    };
    // What decorators have said of the method until now.
    for (const said of Metadata.getMetadataKeys(method)) {
      Metadata.defineMetadata(said, Metadata.getMetadata(said, method), wrapper);
    }
    Object.defineProperty(wrapper, "name", { value: method.name });
    descriptor.value = wrapper;
  };
}

/** What the package reflect-metadata, which Nest loads, adds to `Reflect`. */
const Metadata = Reflect as unknown as {
  getMetadataKeys(target: object): unknown[];
  getMetadata(key: unknown, target: object): unknown;
  defineMetadata(key: unknown, value: unknown, target: object): void;
};
