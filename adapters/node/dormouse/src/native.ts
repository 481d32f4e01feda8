import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

import { DormouseError } from "./errors.js";
import { VERSION } from "./version.js";

/** Where a function of the program answers. */
export interface Reply {
  send(isGood: boolean, text: string): void;
}

/** A function that a snippet may call. */
export interface Offered {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments, as JSON. */
  readonly schema: string;
}

/** A call that is worked on. */
export interface Ticket {
  cancel(): void;
}

/** Told what happens, in its order: see `adapters/node/src/program.rs`. */
export type Listener = (
  about: "output" | "call" | "error" | "answer",
  name: string | null,
  text: string | null,
  pieces: readonly Piece[] | null,
  reply: Reply | null,
) => void;

/** A piece of output. */
export interface Piece {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/** The engine of the native part. */
export interface Engine {
  run(request: string, stdin: Uint8Array, functions: Offered[], tellsOutput: boolean, listener: Listener): Ticket;
  call(tool: string, request: string, listener: Listener): Ticket;
  close(listener: Listener): Ticket;
  closeNow(): void;
}

interface Native {
  VERSION: string;
  Engine: new (options: string) => Engine;
}

/** The package that holds the native part, the program and the guests for this machine. */
export interface Platform {
  /** Its folder. */
  readonly folder: string;
  /** The program. */
  readonly program: string;
}

/** The packages that there are, by machine. */
const PLATFORMS: Readonly<Record<string, string>> = {
  "linux-arm64": "dormouse-sandbox-linux-arm64-gnu",
  "linux-x64": "dormouse-sandbox-linux-x64-gnu",
};
const ELSEWHERE = "use a server from here: new Dormouse({ url, token })";

/**
 * Finds the package for this machine.
 *
 * @throws {@link DormouseError} `capability_unavailable` where there is none, `version_mismatch` for one of another release.
 */
export function platform(): Platform {
  const machine = `${process.platform}-${process.arch}`;
  const name = PLATFORMS[machine];
  if (name === undefined) {
    throw new DormouseError("capability_unavailable", `Dormouse does not run on ${machine}`, ELSEWHERE);
  }
  const require = createRequire(import.meta.url);
  let found: string;
  try {
    found = require.resolve(`${name}/package.json`);
  } catch (fault) {
    throw new DormouseError(
      "capability_unavailable",
      `the package \`${name}\` is not installed`,
      `install it in the version ${VERSION}, beside this one (npm leaves it out with --omit=optional); a bundler has to leave \`dormouse-sandbox\` external`,
      [String(fault)],
    );
  }
  const { version } = require(found) as { version: string };
  if (version !== VERSION) throw mixture(`the package \`${name}\``, version);
  const folder = dirname(found);
  return { folder, program: join(folder, "release", "bin", "dormouse") };
}

function mixture(part: string, version: string): DormouseError {
  return new DormouseError(
    "version_mismatch",
    `${part} is of version ${version}, and this package of version ${VERSION}`,
    "install both in the same version",
  );
}

let loaded: Native | undefined;

function native(): Native {
  if (loaded !== undefined) return loaded;
  const { folder } = platform();
  try {
    loaded = createRequire(import.meta.url)(join(folder, "dormouse.node")) as Native;
  } catch (fault) {
    throw new DormouseError(
      "capability_unavailable",
      "the native part of this package cannot be loaded",
      `it needs Linux with glibc 2.34 or later (not musl, as in Alpine); else ${ELSEWHERE}`,
      [String(fault)],
    );
  }
  if (loaded.VERSION !== VERSION) throw mixture("the native part", loaded.VERSION);
  return loaded;
}

/**
 * Starts an engine. `options`: those of the native part.
 *
 * @throws {@link DormouseError}
 */
export function engine(options: Readonly<Record<string, unknown>>): Engine {
  const { Engine } = native();
  try {
    return new Engine(JSON.stringify({ installed: installed(), cache: cache(), spelling: "camel", ...options }));
  } catch (fault) {
    throw DormouseError.thrown(fault);
  }
}

/** The folder of guests that came with the package. Machine code is used where nobody else can write it. */
function installed(): string | undefined {
  const releases = join(platform().folder, "release", "lib", "dormouse");
  const [other] = existsSync(releases) ? readdirSync(releases) : [];
  const folder = join(releases, VERSION);
  if (!existsSync(folder)) {
    if (other !== undefined) throw mixture("the folder of guests", other);
    return undefined;
  }
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((below) => join(folder, below));
  const user = process.geteuid?.();
  for (const path of [folder, ...paths]) {
    const { mode, uid } = statSync(path);
    // As files come to be where others of the user's group may write what he makes.
    if (mode & 0o022 && uid === user) chmodSync(path, mode & 0o7755);
  }
  return folder;
}

/** The folder for what is compiled and noted, where no variable names the user's: one that is the user's own. */
function cache(): string | undefined {
  const names = ["DORMOUSE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"];
  if (names.some((name) => isAbsolute(process.env[name] ?? ""))) return undefined;
  return join(tmpdir(), `dormouse-${process.geteuid?.()}`);
}
