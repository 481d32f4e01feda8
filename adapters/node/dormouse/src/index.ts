/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Run untrusted Python, JavaScript, TypeScript and PHP in sandboxes, inside this process.
 *
 * ```ts
 * import { run } from "dormouse-sandbox";
 *
 * const outcome = await run<number>("1 + 1");
 * outcome.value; // 2
 * ```
 *
 * Nothing of this machine is visible to a sandbox unless you grant it, and limits are always on. {@link Dormouse} has the options.
 *
 * @module
 */

export { Dormouse, Sandbox, run, type DormouseOptions, type ForkOptions, type SandboxAnswer } from "./client.js";
export { DormouseError, SnippetError } from "./errors.js";
export { GuestException, type NetworkDenied, type NetworkUse, Outcome } from "./outcome.js";
export type {
  Callback,
  CallbackContext,
  CallbackFunction,
  Mount,
  Mounts,
  OutputHandler,
  RunOptions,
  SandboxRunOptions,
  StreamName,
} from "./request.js";
export { type Output, Running } from "./running.js";
export type { CallOptions } from "./surface.js";
export type { CloseOptions } from "./transport.js";
export { ObjectValue, Reference, Resource, type Typed, Unknown } from "./values.js";
export { VERSION } from "./version.js";
export type * from "./answers.js";
export type * from "./verbs.js";
