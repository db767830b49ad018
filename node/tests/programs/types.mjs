// Checks types as tsc does, but of what others declare only what is used: types.mjs TYPESCRIPT ARGUMENTS_OF_TSC...
// TYPESCRIPT is the library of a compiler written in JavaScript, which takes most of its time for the declarations of others.

import { createRequire } from "node:module";

const [library, ...args] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(library);
const { options, fileNames, errors } = ts.parseCommandLine(args);
const program = ts.createProgram(fileNames, options);
const given = fileNames.map((name) => program.getSourceFile(name));
const declared = program.getSourceFiles().filter(({ fileName }) => fileName.includes("/node_modules/libdlock/"));
if (declared.length === 0) throw new Error("no declaration of libdlock is used");
const found = [
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...[...given, ...declared].flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]),
];
const host = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => process.cwd(),
  getNewLine: () => "\n",
};
process.stdout.write(ts.formatDiagnostics(found, host));
process.exitCode = found.length > 0 ? 1 : 0;
