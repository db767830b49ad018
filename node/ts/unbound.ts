type Method = (this: unknown, ...given: unknown[]) => unknown;

/**
 * Has the methods of a class say what is wrong where they are called without their object, as `promise.finally(held.release)` calls
 * one; an asynchronous one by its promise alone. `what` is the object, and `named` a name for it.
 */
export function refuseUnbound(kind: { readonly prototype: object }, what: string, named: string): void {
  const { prototype } = kind;
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (typeof value !== "function" || name === "constructor") continue;
    const method = value as Method;
    const explain = (): TypeError => {
      const call = `${named}.${name}`;
      return new TypeError(`${name}() was called without its ${what}: pass () => ${call}() and not ${call}`);
    };
    const answersLater = method.constructor !== Function;
    const checked: Method = function (...given) {
      if (prototype.isPrototypeOf(this as object)) return method.apply(this, given);
      if (answersLater) return Promise.reject(explain());
      throw explain();
    };
    Object.defineProperty(checked, "name", { value: name });
    Object.defineProperty(prototype, name, { value: checked });
  }
}
