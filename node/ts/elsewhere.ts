/**
 * Has the objects of a class refuse methods that those of other libraries have, with a sentence that says where it is here. No type
 * has these methods.
 */
export function refuseElsewhere(
  { prototype }: { readonly prototype: object },
  what: string,
  calls: Readonly<Record<string, string>>,
): void {
  for (const [name, instead] of Object.entries(calls)) {
    const value = (): never => {
      const error = new TypeError(`${what} has no ${name}(); ${instead}`);
      throw Object.assign(error, { code: "ERR_METHOD_NOT_IMPLEMENTED" });
    };
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}
