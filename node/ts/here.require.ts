/** As `here.ts`, for the CommonJS build: see tsconfig.cjs.json and package.sh. */
export const here: string = __filename;
