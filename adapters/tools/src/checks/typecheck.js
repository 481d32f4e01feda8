// Checks types with the TypeScript compiler of the sandbox. Fed to `node -` with the path of a job, as tests.js is. The compiler
// is given files through a host of ours: its own needs more of Node than there is.
const fs = require('node:fs');
const path = require('node:path');
const process = require('node:process');
const job = JSON.parse(fs.readFileSync(process.argv.at(-1), 'utf8'));
const MOST_FAILURES = 200;
process.browser = true;
process.chdir(job.folder);
const home = `${job.folder}/node_modules/typescript/lib`;
const ts = require(`${home}/typescript.js`);

const kindOf = (name) => {
  try {
    return fs.statSync(name);
  } catch {
    return undefined;
  }
};
const host = {
  useCaseSensitiveFileNames: () => true,
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => job.folder,
  getNewLine: () => '\n',
  getDefaultLibFileName: (options) => `${home}/${ts.getDefaultLibFileName(options)}`,
  getDefaultLibLocation: () => home,
  fileExists: (name) => kindOf(name)?.isFile() ?? false,
  directoryExists: (name) => kindOf(name)?.isDirectory() ?? false,
  readFile: (name) => (kindOf(name)?.isFile() ? fs.readFileSync(name, 'utf8') : undefined),
  getDirectories: (name) => fs.readdirSync(name).filter((entry) => kindOf(path.join(name, entry))?.isDirectory()),
  realpath: (name) => name,
  writeFile() {},
  getSourceFile(name, options) {
    const text = host.readFile(name);
    return text === undefined ? undefined : ts.createSourceFile(name, text, options, true);
  },
};

// Files by their own patterns are more than is looked at here: those of the job are checked, with the project's options.
function settings() {
  const usual = { noEmit: true, skipLibCheck: true, allowJs: true, checkJs: true, strict: true, target: ts.ScriptTarget.ES2022 };
  const config = `${job.folder}/tsconfig.json`;
  if (!host.fileExists(config)) {
    return { options: { ...usual, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }, errors: [] };
  }
  const read = ts.readConfigFile(config, host.readFile);
  if (read.error) return { options: usual, errors: [read.error] };
  const parsed = ts.convertCompilerOptionsFromJson(read.config.compilerOptions ?? {}, job.folder);
  return { options: { ...parsed.options, noEmit: true }, errors: parsed.errors };
}

const { options, errors } = settings();
const files = options.allowJs ? job.files : job.files.filter((name) => !/\.[cm]?js$/.test(name));
const program = ts.createProgram(files, options, host);
const found = [...errors, ...ts.getPreEmitDiagnostics(program)].filter(({ category }) => category === ts.DiagnosticCategory.Error);
const failures = found.slice(0, MOST_FAILURES).map((each) => ({
  name: 'types',
  file: each.file?.fileName ?? null,
  line: each.file ? ts.getLineAndCharacterOfPosition(each.file, each.start).line + 1 : null,
  message: `TS${each.code}: ${ts.flattenDiagnosticMessageText(each.messageText, '\n')}`.slice(0, 2000),
}));
fs.writeFileSync(job.result, JSON.stringify({ complete: true, tool: `tsc ${ts.version}`, notes: [], problems: found.length, failures }));
undefined;
