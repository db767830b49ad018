/**
 * Where this package's code is, for `createRequire`. The package's own CommonJS build has `here.require.ts` instead of this file.
 */
export const here = urlOrFile(import.meta.url);

/** A bundle of CommonJS has no `import.meta`, but the name of its file. */
function urlOrFile(url: string | undefined): string {
  return url ?? __filename;
}
