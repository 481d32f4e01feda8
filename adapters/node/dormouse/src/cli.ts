#!/usr/bin/env node
/** The command line, which came with the package. */
import { spawn } from "node:child_process";
import { constants } from "node:os";

import { DormouseError } from "./errors.js";
import { platform } from "./native.js";

const FORWARDED = ["SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT"] as const;

try {
  const child = spawn(platform().program, process.argv.slice(2), { stdio: "inherit" });
  // What is sent is passed on, but for what a terminal has sent to both. The program decides when it ends.
  const isToBoth = (signal: string) => signal === "SIGINT" && process.stdin.isTTY;
  for (const signal of FORWARDED) process.on(signal, () => isToBoth(signal) || child.kill(signal));
  child.on("error", (fault) => fail(`the program of this package cannot be started: ${fault.message}\nhint: install the package again`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
} catch (error) {
  fail(error instanceof DormouseError ? error.message : String(error));
}

function fail(text: string): never {
  console.error(`dormouse: ${text}`);
  process.exit(1);
}
