/** What calls answer. Made from how the tools are listed: `BLESS=1 cargo test --test structure sdk`. */

import type { Typed } from "./values.js";

export interface CapabilitiesUnavailable {
  /** Its name. */
  readonly provider: string;
  /** Why it is unavailable. */
  readonly reason: string;
}

export interface CapabilitiesAbilities {
  /** Its name. */
  readonly provider: string;
  /** What keeps code in: webassembly, container or none. */
  readonly wall: string;
  /** Languages that it can run. */
  readonly languages: readonly string[];
  /** Where their interpreters come from: installation or image. */
  readonly interpreters: string;
  /** saved with the sandbox, or awake: lost when it is stopped, restored or forked. */
  readonly variables: string;
  /** What checkpoints can be asked to hold. */
  readonly include: readonly string[];
  /** What an image is: a container, a checkpoint that the operator offers, or none. */
  readonly images: string;
  /** The widest network access that a sandbox can have. */
  readonly network: string;
  /** What memory_bytes bounds: each interpreter, or the sandbox as a whole. */
  readonly memory: string;
  /** Limits that hold, by the names of their arguments. */
  readonly limits: readonly string[];
  /** Whether it runs snippets without a sandbox. */
  readonly snippets: boolean;
  /** Whether it runs programs of WASI by themselves. */
  readonly wasiPrograms: boolean;
  /** Whether command lines can run programs of an operating system. */
  readonly systemPrograms: boolean;
  /** Whether random numbers and the clock can be fixed, and code that is made from text refused. */
  readonly fixed: boolean;
  /** Whether sandboxes can be kept ready. */
  readonly warmPool: boolean;
}

export interface CapabilitiesLanguages {
  /** What to give as `language`. */
  readonly language: string;
  /** The interpreter and its version. */
  readonly interpreter: string;
  /** Whether it can run now. */
  readonly available: boolean;
  /** What is missing or particular; may be empty. */
  readonly note: string;
}

/** What is answered as `CapabilitiesDefaults`: Limits of a call that asks for none. */
export interface CapabilitiesDefaults {
  /** Wall-clock time in milliseconds. */
  readonly timeoutMs: number;
  /** Memory in bytes. */
  readonly memoryBytes: number;
  /** Bytes kept of each output stream. */
  readonly outputBytes: number;
  /** Executed operations; 0: not counted. */
  readonly fuel: number;
}

export interface CapabilitiesMounts {
  /** Where a snippet sees it. */
  readonly target: string;
  /** Whether writes are granted to a call that asks with `allowWrites`. */
  readonly writable: boolean;
}

export interface CapabilitiesSkills {
  /** Its name. */
  readonly name: string;
  /** Its folder in the sandbox; read SKILL.md there before using it. */
  readonly path: string;
  /** What it is for, as its SKILL.md begins. */
  readonly description: string;
}

/** What is answered as `CapabilitiesNetworks`: A network that can be asked for. */
export interface CapabilitiesNetworks {
  /** Its name. */
  readonly name: string;
  /** What it allows. Lines of `networkAllow` are written like these. */
  readonly allows: readonly string[];
  /** Secrets of which sandboxes get placeholders, in environment variables of these names. */
  readonly secrets: readonly string[];
}

/** What is answered as `CapabilitiesPackages`: Packages that sandboxes can have installed by the host. */
export interface CapabilitiesPackages {
  /** Whether there are any. */
  readonly available: boolean;
  /** Whose there are. */
  readonly managers: readonly string[];
  /** Names that the operator allows, dependencies included; the first 100. */
  readonly allow: readonly string[];
  /** How many such names there are. */
  readonly allowed: number;
  /** Packages that one call may install, dependencies included. */
  readonly packages: number;
  /** Bytes that they may unpack to. */
  readonly bytes: number;
}

/**
 * What is answered as `CapabilitiesGit`: Remote git repositories. `git` itself is always there for repositories of
 * the sandbox's own.
 */
export interface CapabilitiesGit {
  /** Whether any can be reached. */
  readonly available: boolean;
  /** What the operator allows; the first 100. */
  readonly allow: readonly string[];
  /** How many such addresses there are. */
  readonly allowed: number;
}

/** What is answered as `CapabilitiesModels`: The language model that snippets and sub-agents can ask. */
export interface CapabilitiesModels {
  /** Whether there is one. */
  readonly available: boolean;
  /** Whose it is: operator, client (it samples for the server), or none. */
  readonly from: string;
  /** The operator's model; empty when there is none. */
  readonly model: string;
  /** Calls of it that one call of a tool may make. */
  readonly maxCalls: number;
  /** Tokens that one call of a tool may use. */
  readonly maxTokens: number;
}

export interface CapabilitiesQuotas {
  /** Sandboxes of one owner. */
  readonly sandboxes: number;
  /** Sandboxes of all owners. */
  readonly sandboxesInAll: number;
  /** Checkpoints of one sandbox. */
  readonly checkpoints: number;
  /** What the saved states of one owner may hold. */
  readonly savedBytes?: number;
  /** What all saved states may take of the disk. */
  readonly savedBytesInAll?: number;
  /** Memory of one owner's sandboxes that are awake. */
  readonly awakeBytes?: number;
  /** Memory of all sandboxes that are awake. */
  readonly awakeBytesInAll?: number;
  /** Memory that all runs together may add to what they begin with. */
  readonly runsMemoryBytes?: number;
}

export interface CapabilitiesTimes {
  /** Without calls for this long a sandbox is stopped, unless it asks otherwise. */
  readonly idleTimeoutMs: number;
  /** The most that a sandbox can request. */
  readonly idleTimeoutMaxMs: number;
  /** Stopped for this long it is destroyed, unless it asks otherwise. */
  readonly retentionMs: number;
  /** The most that a sandbox can request. */
  readonly retentionMaxMs: number;
  /** One that was never called is destroyed after this. */
  readonly unusedMs: number;
}

export interface CapabilitiesError {
  /** Stable name, such as limit_time, limit_memory, args_invalid, busy. */
  readonly code: string;
  /** What happened, with the limit and the value. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
}

export interface CapabilitiesAnswer {
  /** Version of Dormouse. */
  readonly version: string;
  /** Who runs sandboxes; the first runs snippets without one. */
  readonly providers: readonly string[];
  /** Providers that are unavailable at the moment. */
  readonly unavailable: readonly CapabilitiesUnavailable[];
  /** What each of the providers can do. */
  readonly abilities: readonly CapabilitiesAbilities[];
  /** Images of containers, the default first; then those of sandboxes without one. */
  readonly images: readonly string[];
  /** Languages, sorted by name. */
  readonly languages: readonly CapabilitiesLanguages[];
  /** Limits of a call that asks for none. */
  readonly defaults: CapabilitiesDefaults;
  /** The most a call can be granted by the operator; a tool may take less. */
  readonly ceilings: CapabilitiesDefaults;
  /** Largest source text in bytes. */
  readonly codeBytes: number;
  /** Folders of the host that every run sees. */
  readonly mounts: readonly CapabilitiesMounts[];
  /** Skills that every new sandbox sees, read-only. */
  readonly skills: readonly CapabilitiesSkills[];
  /** Whether writes to mounted folders can be granted. */
  readonly allowWrites: boolean;
  /** Whether snippets may make code from text. */
  readonly allowEval: boolean;
  /** Network access that can be granted: `none`, or `rules` (what `networks` lists). */
  readonly network: string;
  /** Networks that can be asked for; `default` is what `allowNetwork` means. */
  readonly networks: readonly CapabilitiesNetworks[];
  /** Packages that sandboxes can have installed by the host. */
  readonly packages: CapabilitiesPackages;
  /** Remote git repositories. `git` itself is always there for repositories of the sandbox's own. */
  readonly git: CapabilitiesGit;
  /** The language model that snippets and sub-agents can ask. */
  readonly models: CapabilitiesModels;
  /** Quotas of persistent sandboxes; null if there are none. A size that is not listed is unlimited. */
  readonly quotas: CapabilitiesQuotas | null;
  /** How long persistent sandboxes are kept when nobody calls them; null if there are none. */
  readonly times: CapabilitiesTimes | null;
  /** How much of what it does not need the kernel refuses the server's own process: `full`, `partial` or `off`. */
  readonly confinement: string;
  /** Functions of the host that a snippet can call. */
  readonly callbacks: readonly string[];
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `CreateLimits`: What it may use. */
export interface CreateLimits {
  /** Memory of each interpreter; of a container, of all its programs and files together. */
  readonly memoryBytes: number;
  /** Bytes of all its files. */
  readonly diskBytes: number;
  /** Files, folders and links. Not of a pod: its cluster bounds them. */
  readonly files?: number;
  /** Thousandths of a core. */
  readonly cpuMillis: number;
  /** Processes at one time. Not of a pod: its cluster bounds them. */
  readonly processes?: number;
}

/** What is answered as `CreateNetwork`: What it may reach; only if it has a network. */
export interface CreateNetwork {
  /** The operator's network that it asked for. */
  readonly profile: string;
  /** What of it was asked for; only if not all of it was. */
  readonly allow?: readonly string[];
}

export interface CreateMounts {
  /** Where the sandbox sees it. */
  readonly target: string;
  /** Whether the sandbox may write there. */
  readonly writable: boolean;
}

export interface CreateWithdrawn {
  /** mount, skill, writes, memory, image, provider or network. */
  readonly grant: string;
  /** What is different now. */
  readonly reason: string;
  /** Which mount or skill. */
  readonly target?: string;
}

/** What is answered as `CreateUnsaved`: Why what the call did is not saved, if it could not be. */
export interface CreateUnsaved {
  /** Stable name. */
  readonly code: string;
  /** What keeps it. */
  readonly message: string;
  /** What to do. */
  readonly hint: string;
}

export interface CreateAnswer {
  /** Its id. */
  readonly id: string;
  /** Its name; means the same as the id in every tool. */
  readonly name: string;
  /** The caller's own key, if it was made with one. */
  readonly sessionKey?: string;
  /** creating, running, stopped or error. */
  readonly phase: string;
  /** provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error. */
  readonly status: string;
  /** idle, user or quota; only when it is stopped. */
  readonly stopReason?: string;
  /** When it was stopped, UTC. */
  readonly stoppedAt?: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** When it was last called, UTC. */
  readonly lastActivityAt: string;
  /** Languages whose interpreters this server has in memory. */
  readonly awake: readonly string[];
  /**
   * session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
   * files: only files are kept, variables as long as it is awake.
   */
  readonly persistence: string;
  /** call: each call is saved before it is answered. Else it is a moment later. */
  readonly durability?: string;
  /** Who runs it: wasm, docker or kubernetes. */
  readonly provider: string;
  /** The provider that was asked for and could not be had; only when there is one. */
  readonly fallbackFrom?: string;
  /** The image of its container, null for the operator's default; else the one that it was made from, if any. */
  readonly image?: unknown;
  /** What it may use. */
  readonly limits: CreateLimits;
  /** What it may reach; only if it has a network. */
  readonly network?: CreateNetwork;
  /** Without calls for this long it is stopped. */
  readonly idleTimeoutMs: number;
  /** Stopped for this long it is destroyed. */
  readonly retentionMs: number;
  /** Folders of the host that it sees now, skills among them; not in lists. */
  readonly mounts?: readonly CreateMounts[];
  /**
   * Grants that the sandbox was created with and that the operator does not give now; they return when they are
   * given again.
   */
  readonly withdrawn?: readonly CreateWithdrawn[];
  /** False when the session key had a sandbox already, which is the one that is shown. */
  readonly created: boolean;
  /** Options of this call that were not taken, because the session key had a sandbox already; only if there are any. */
  readonly ignored?: readonly string[];
  /** Skills that every new sandbox sees, read-only. */
  readonly skills: readonly CapabilitiesSkills[];
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `ListSandboxes`: A sandbox. */
export interface ListSandboxes {
  /** Its id. */
  readonly id: string;
  /** Its name; means the same as the id in every tool. */
  readonly name: string;
  /** The caller's own key, if it was made with one. */
  readonly sessionKey?: string;
  /** creating, running, stopped or error. */
  readonly phase: string;
  /** provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error. */
  readonly status: string;
  /** idle, user or quota; only when it is stopped. */
  readonly stopReason?: string;
  /** When it was stopped, UTC. */
  readonly stoppedAt?: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** When it was last called, UTC. */
  readonly lastActivityAt: string;
  /** Languages whose interpreters this server has in memory. */
  readonly awake: readonly string[];
  /**
   * session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
   * files: only files are kept, variables as long as it is awake.
   */
  readonly persistence: string;
  /** call: each call is saved before it is answered. Else it is a moment later. */
  readonly durability?: string;
  /** Who runs it: wasm, docker or kubernetes. */
  readonly provider: string;
  /** The provider that was asked for and could not be had; only when there is one. */
  readonly fallbackFrom?: string;
  /** The image of its container, null for the operator's default; else the one that it was made from, if any. */
  readonly image?: unknown;
  /** What it may use. */
  readonly limits: CreateLimits;
  /** What it may reach; only if it has a network. */
  readonly network?: CreateNetwork;
  /** Without calls for this long it is stopped. */
  readonly idleTimeoutMs: number;
  /** Stopped for this long it is destroyed. */
  readonly retentionMs: number;
  /** Folders of the host that it sees now, skills among them; not in lists. */
  readonly mounts?: readonly CreateMounts[];
  /**
   * Grants that the sandbox was created with and that the operator does not give now; they return when they are
   * given again.
   */
  readonly withdrawn?: readonly CreateWithdrawn[];
}

export interface ListAnswer {
  /** The page. */
  readonly sandboxes: readonly ListSandboxes[];
  /** Where the next page begins; only when there is one. */
  readonly nextCursor?: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `RunsNetworkDenied`: What was refused. */
export interface RunsNetworkDenied {
  /** The host. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
  /** What was lacking: host, port, protocol, method, path, address, secret, or a budget. */
  readonly reason: string;
  /** The operator's rule that came nearest; only if one did. */
  readonly rule?: string;
}

/** What is answered as `RunsNetwork`: What it has done with the network so far; only if it has one. */
export interface RunsNetwork {
  /** Requests, refused ones too. */
  readonly requests: number;
  /** Bytes of bodies that came back. */
  readonly bytesIn: number;
  /** Bytes of bodies that were sent. */
  readonly bytesOut: number;
  /** What was refused, each once, at most 16: what to ask the operator for. Only if something was. */
  readonly denied?: readonly RunsNetworkDenied[];
  /** How often the value of a secret was masked in an answer. */
  readonly secretsMasked: number;
}

/** What is answered as `RunsCalls`: A call of a tool. */
export interface RunsCalls {
  /** Its number in the program. */
  readonly number: number;
  /** The tool, `SERVER.TOOL`; or a request that the program has sent, the first since it waited last. */
  readonly tool: string;
  /**
   * `begun`, `asking`, `answered`, `done`, `unknown` (it was under way when its process ended), `refused` (it was
   * not made) or `cancelled`.
   */
  readonly state: string;
  /** The beginning of its arguments, as JSON. Untrusted. */
  readonly arguments: string;
  /** The beginning of its answer, as JSON. Untrusted. */
  readonly answer?: string;
  /** What the program was told; only when it failed. Untrusted. */
  readonly failure?: string;
  /** Why somebody is asked, or was. */
  readonly asked?: string;
}

/** What is answered as `RunsRuns`: A run. */
export interface RunsRuns {
  /** Its id. */
  readonly runId: string;
  /** The sandbox that its program is in. */
  readonly sandboxId: string;
  /** The program's language. */
  readonly language: string;
  /** The beginning of the program, at most 200 characters. */
  readonly code: string;
  /**
   * `running`, `waiting` (for tools or time), `asking` (somebody is to allow a call), `done`, `failed` or
   * `cancelled`.
   */
  readonly state: string;
  /** When it was started. */
  readonly startedAt: string;
  /** When its state last changed. */
  readonly changedAt: string;
  /** When it goes on by itself; only when it waits for time. */
  readonly dueAt?: string;
  /** The program's value, as sandbox_eval shows it; only when it has one. */
  readonly result?: unknown;
  /** What the program raised, as sandbox_eval shows it; only when it did. Untrusted text. */
  readonly exception?: unknown;
  /** Exit status; only when it has ended. */
  readonly exitCode?: number;
  /** What ended it; only when it did not end by itself. */
  readonly cause?: CapabilitiesError | null;
  /** The end of its standard output. Untrusted: written by the program. */
  readonly stdout: string;
  /** The end of its standard error. Untrusted: written by the program. */
  readonly stderr: string;
  /** How often it has waited. */
  readonly waits: number;
  /** What it has done with the network so far; only if it has one. */
  readonly network?: RunsNetwork;
  /** Its last 50 calls of tools, in their order. Not in a list. */
  readonly calls?: readonly RunsCalls[];
}

export interface RunsAnswer {
  /** Its id. */
  readonly runId?: string;
  /** The sandbox that its program is in. */
  readonly sandboxId?: string;
  /** The program's language. */
  readonly language?: string;
  /** The beginning of the program, at most 200 characters. */
  readonly code?: string;
  /**
   * `running`, `waiting` (for tools or time), `asking` (somebody is to allow a call), `done`, `failed` or
   * `cancelled`.
   */
  readonly state?: string;
  /** When it was started. */
  readonly startedAt?: string;
  /** When its state last changed. */
  readonly changedAt?: string;
  /** When it goes on by itself; only when it waits for time. */
  readonly dueAt?: string;
  /** The program's value, as sandbox_eval shows it; only when it has one. */
  readonly result?: unknown;
  /** What the program raised, as sandbox_eval shows it; only when it did. Untrusted text. */
  readonly exception?: unknown;
  /** Exit status; only when it has ended. */
  readonly exitCode?: number;
  /** What ended it; only when it did not end by itself. */
  readonly cause?: CapabilitiesError | null;
  /** The end of its standard output. Untrusted: written by the program. */
  readonly stdout?: string;
  /** The end of its standard error. Untrusted: written by the program. */
  readonly stderr?: string;
  /** How often it has waited. */
  readonly waits?: number;
  /** What it has done with the network so far; only if it has one. */
  readonly network?: RunsNetwork;
  /** Its last 50 calls of tools, in their order. Not in a list. */
  readonly calls?: readonly RunsCalls[];
  /** Those that ask first, then others that go on, then those that have ended, the newest of each first; at most 100. */
  readonly runs?: readonly RunsRuns[];
  /** How many there are, at most 2000; only in a list. */
  readonly total?: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `RunLintFailures`: One failure. Untrusted text. */
export interface RunLintFailures {
  /** The test, or what was checked. */
  readonly name: string;
  /** Where it is. */
  readonly file: unknown;
  /** The line, from 1. */
  readonly line: unknown;
  /** What is wrong. */
  readonly message: string;
}

export interface RunLintAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** Whether the check passed. The call is an error if not. */
  readonly passed: boolean;
  /** The result in one sentence. */
  readonly summary: string;
  /** Who checked. */
  readonly tool: string;
  /** Files that were checked. */
  readonly files: number;
  /** What was found, shown or not. */
  readonly problems: number;
  /** The first problems. */
  readonly failures: readonly RunLintFailures[];
  /** Standard output of the run. Untrusted text. */
  readonly stdout: string;
  /** Standard error of the run. Untrusted text. */
  readonly stderr: string;
  /** Wall-clock time in milliseconds. */
  readonly durationMs: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `RunTestsTests`: How many tests there were; left out when the runner only has an exit status. */
export interface RunTestsTests {
  /** All of them. */
  readonly total: number;
  /** Those that passed. */
  readonly passed: number;
  /** Those whose assertions failed. */
  readonly failed: number;
  /** Tests that ended in another way, such as by an exception. */
  readonly errors: number;
  /** Those that were skipped. */
  readonly skipped: number;
}

export interface RunTestsAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** Whether the check passed. The call is an error if not. */
  readonly passed: boolean;
  /** The result in one sentence. */
  readonly summary: string;
  /** Who checked. */
  readonly tool: string;
  /** How many tests there were; left out when the runner only has an exit status. */
  readonly tests?: RunTestsTests;
  /** The first problems. */
  readonly failures: readonly RunLintFailures[];
  /** Standard output of the run. Untrusted text. */
  readonly stdout: string;
  /** Standard error of the run. Untrusted text. */
  readonly stderr: string;
  /** Wall-clock time in milliseconds. */
  readonly durationMs: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `CheckpointOlderMemory`: Memory of an interpreter whose guest is not here. */
export interface CheckpointOlderMemory {
  /** Its language. */
  readonly language: string;
  /** SHA-256 of the guest that it belongs to. */
  readonly guest: string;
  /** Bytes of its pages. */
  readonly bytes: number;
}

export interface CheckpointAnswer {
  /** Its id, for sandbox_restore and sandbox_fork. */
  readonly id: string;
  /** The sandbox whose state it is. */
  readonly sandboxId: string;
  /** Its name, if it has one. */
  readonly name?: string;
  /** Its note, if there is one. Untrusted text. */
  readonly note?: string;
  /** both, memory or files. */
  readonly include: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** Bytes of the state, shared ones included. */
  readonly sizeBytes: number;
  /** Files that were open and are no part of it; none on the provider wasm. */
  readonly closedFiles: readonly string[];
  /**
   * Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
   * when something was.
   */
  readonly lost?: Readonly<Record<string, unknown>>;
  /**
   * Memory that belongs to other builds of guests; only if there is any. The language continues from it if that
   * build is installed again; sandbox_reset drops it.
   */
  readonly olderMemory?: readonly CheckpointOlderMemory[];
  /**
   * Languages whose interpreters run in a container and whose variables are not in the state: they last as long as
   * it runs.
   */
  readonly notHeld?: readonly string[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface DescribeCheckpointAnswer {
  /** Its id, for sandbox_restore and sandbox_fork. */
  readonly id: string;
  /** The sandbox whose state it is. */
  readonly sandboxId: string;
  /** Its name, if it has one. */
  readonly name?: string;
  /** Its note, if there is one. Untrusted text. */
  readonly note?: string;
  /** both, memory or files. */
  readonly include: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** Bytes of the state, shared ones included. */
  readonly sizeBytes: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface DestroyAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** What was done. */
  readonly message: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `DownloadResource`: The address of the file as a resource. */
export interface DownloadResource {
  /** Its address. */
  readonly uri: string;
  /** Its name. Untrusted text. */
  readonly name: string;
  /** Its media type, derived from its name. */
  readonly mimeType: string;
  /** Its size. */
  readonly sizeBytes: number;
}

export interface DownloadAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The file. */
  readonly path: string;
  /** Its size. */
  readonly sizeBytes: number;
  /** SHA-256 of it, in hexadecimal. */
  readonly sha256: string;
  /** The file; only when it is small and not saved. */
  readonly contentBase64?: string;
  /** Where it was saved; only when it was. */
  readonly hostPath?: string;
  /** The address of the file as a resource. */
  readonly resource: DownloadResource;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface EditAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The file. */
  readonly path: string;
  /** In how many places. */
  readonly replaced: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface ExecAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** Standard output; beginning and end of it when it is long. */
  readonly stdout?: string;
  /** Standard error; beginning and end of it when it is long. */
  readonly stderr?: string;
  /** Exit status; 124 after the time limit, 137 after another. */
  readonly exitCode?: number;
  /** Wall-clock time in milliseconds. */
  readonly durationMs?: number;
  /** Whether the time limit ended it. */
  readonly timedOut?: boolean;
  /** Bytes written to standard output. */
  readonly stdoutBytes?: number;
  /** Bytes written to standard error. */
  readonly stderrBytes?: number;
  /** Where the whole of standard output is; only when it was cut. The last 8 such files are kept. */
  readonly stdoutFile?: string;
  /** Where the whole of standard error is; only when it was cut. */
  readonly stderrFile?: string;
  /** Why the whole of standard output could not be kept; only when it could not. */
  readonly stdoutLost?: string;
  /** Why the whole of standard error could not be kept; only when it could not. */
  readonly stderrLost?: string;
  /** Commands that it called and that are not here; only if there are any. */
  readonly missing?: readonly string[];
  /** Who ran it: wasm, docker or kubernetes; docker also when it ran a part of it. */
  readonly provider?: string;
  /** The provider that could not run all of it; only if another one did. */
  readonly fallbackFrom?: string;
  /** Commands that another provider ran, on a copy of the files; only if there are any. */
  readonly elsewhere?: readonly string[];
  /** What would provide the missing commands; only if there are any. */
  readonly unavailable?: CapabilitiesError | null;
  /** What the shell is now, after it was stopped or something of it was lost. */
  readonly recovery?: string;
  /** Why, if the outcome of this run does not say it. */
  readonly recoveryReason?: string;
  /**
   * A warning, if there is one: a quota of saved bytes or of files is exceeded, so the run could change and remove
   * files but not add to them.
   */
  readonly warning?: CapabilitiesError | null;
  /** Files that were open and could not be opened again when the sandbox woke; only if there are any. */
  readonly closedFiles?: readonly string[];
  /** What the commands did with the network; only if they have one. */
  readonly network?: RunsNetwork;
  /** The job that was started in the background, or in which commands after `&` continue. */
  readonly jobId?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `FilesEntries`: One name. */
export interface FilesEntries {
  /** Its path below the folder. Untrusted text. */
  readonly path: string;
  /** file, folder or link. */
  readonly kind: string;
  /** Bytes of a file, else 0. */
  readonly bytes: number;
  /** When its content was changed, UTC. */
  readonly modifiedAt: string;
}

export interface FilesAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The folder. */
  readonly path: string;
  /** The page. */
  readonly entries: readonly FilesEntries[];
  /** How many there are, on this page or not. */
  readonly total: number;
  /** Whether some come after this page. */
  readonly truncated: boolean;
  /** Where the next page begins; only when there is one. */
  readonly nextCursor?: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `ForkSandboxes`: A new sandbox. */
export interface ForkSandboxes {
  /** Its id. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
}

export interface ForkAnswer {
  /** The sandbox that was forked. */
  readonly sandboxId: string;
  /** The new ones. */
  readonly sandboxes: readonly ForkSandboxes[];
  /**
   * Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
   * when something was.
   */
  readonly lost?: Readonly<Record<string, unknown>>;
  /**
   * Memory that belongs to other builds of guests; only if there is any. The language continues from it if that
   * build is installed again; sandbox_reset drops it.
   */
  readonly olderMemory?: readonly CheckpointOlderMemory[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface GetAnswer {
  /** Its id. */
  readonly id: string;
  /** Its name; means the same as the id in every tool. */
  readonly name: string;
  /** The caller's own key, if it was made with one. */
  readonly sessionKey?: string;
  /** creating, running, stopped or error. */
  readonly phase: string;
  /** provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error. */
  readonly status: string;
  /** idle, user or quota; only when it is stopped. */
  readonly stopReason?: string;
  /** When it was stopped, UTC. */
  readonly stoppedAt?: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** When it was last called, UTC. */
  readonly lastActivityAt: string;
  /** Languages whose interpreters this server has in memory. */
  readonly awake: readonly string[];
  /**
   * session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
   * files: only files are kept, variables as long as it is awake.
   */
  readonly persistence: string;
  /** call: each call is saved before it is answered. Else it is a moment later. */
  readonly durability?: string;
  /** Who runs it: wasm, docker or kubernetes. */
  readonly provider: string;
  /** The provider that was asked for and could not be had; only when there is one. */
  readonly fallbackFrom?: string;
  /** The image of its container, null for the operator's default; else the one that it was made from, if any. */
  readonly image?: unknown;
  /** What it may use. */
  readonly limits: CreateLimits;
  /** What it may reach; only if it has a network. */
  readonly network?: CreateNetwork;
  /** Without calls for this long it is stopped. */
  readonly idleTimeoutMs: number;
  /** Stopped for this long it is destroyed. */
  readonly retentionMs: number;
  /** Folders of the host that it sees now, skills among them; not in lists. */
  readonly mounts?: readonly CreateMounts[];
  /**
   * Grants that the sandbox was created with and that the operator does not give now; they return when they are
   * given again.
   */
  readonly withdrawn?: readonly CreateWithdrawn[];
  /**
   * Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
   * when something was.
   */
  readonly lost?: Readonly<Record<string, unknown>>;
  /**
   * Memory that belongs to other builds of guests; only if there is any. The language continues from it if that
   * build is installed again; sandbox_reset drops it.
   */
  readonly olderMemory?: readonly CheckpointOlderMemory[];
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface GetVarExceptionPrevious {
  /** Name of its class. */
  readonly class: string;
  /** Its message. */
  readonly message: string;
  /** A number or text where the language has one, else null. */
  readonly code: unknown;
  /** File that raised, or null. */
  readonly file: unknown;
  /** Line that raised, from 1, or null. */
  readonly line: unknown;
  /** Column that raised, from 1, or null. */
  readonly column: unknown;
  /** Frames, innermost first. */
  readonly stackTrace: readonly string[];
  /** The source line that raised. */
  readonly excerpt?: string;
  /** The language's own rendering. */
  readonly traceback?: string;
  /** Always empty here. */
  readonly previous: readonly string[];
}

export interface GetVarException {
  /** Name of its class. */
  readonly class: string;
  /** Its message. */
  readonly message: string;
  /** A number or text where the language has one, else null. */
  readonly code: unknown;
  /** File that raised, or null. */
  readonly file: unknown;
  /** Line that raised, from 1, or null. */
  readonly line: unknown;
  /** Column that raised, from 1, or null. */
  readonly column: unknown;
  /** Frames, innermost first. */
  readonly stackTrace: readonly string[];
  /** The source line that raised. */
  readonly excerpt?: string;
  /** The language's own rendering, cut in its middle. */
  readonly traceback?: string;
  /** What to do about it, such as naming another language; only when there is something to advise. */
  readonly hint?: string;
  /** Causes, nearest first, at most 10. */
  readonly previous: readonly GetVarExceptionPrevious[];
}

export interface GetVarAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The variable. */
  readonly name: string;
  /**
   * The typed value of the last expression; null after an exception, an exit or a stop. Further fields by type:
   * `undefined`, `big`, `entries`, `properties`, `repr`, `preview`, `exhausted`, `sizeHint`, `id`, `reason`.
   */
  readonly result: Typed | null;
  /** What the snippet raised; null when it did not. Untrusted text. */
  readonly exception: GetVarException | null;
  /**
   * What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier
   * (as before an earlier run) or fresh. Reported once.
   */
  readonly recovery?: string;
  /** Why, if the outcome of this run does not say it. */
  readonly recoveryReason?: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `HistorySteps`: A run. */
export interface HistorySteps {
  /** Its id, for sandbox_restore. */
  readonly step: string;
  /** When it began, UTC. */
  readonly at: string;
  /** Its language. */
  readonly language: string;
  /** The beginning of its code. */
  readonly code: string;
  /** returned, raised, exited or stopped. */
  readonly ended: string;
}

export interface HistoryAnswer {
  /** The steps. */
  readonly steps: readonly HistorySteps[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `InstallInstalled`: A package. */
export interface InstallInstalled {
  /** Its name. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
  /** The version that was there before. */
  readonly replaced?: string;
  /** Its files. */
  readonly files: number;
}

export interface InstallAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** What is new or has another version. */
  readonly installed: readonly InstallInstalled[];
  /** What was there already. */
  readonly satisfied: readonly string[];
  /** Notes for the caller. */
  readonly notes: readonly string[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `JobJobs`: A job. */
export interface JobJobs {
  /** Its id. */
  readonly jobId: string;
  /** The beginning of its command line. */
  readonly command: string;
  /** `running`, `ended`, `cancelled` or `stopped` (by a limit). */
  readonly state: string;
  /** When it was started. */
  readonly startedAt: string;
  /** When it ended; only when it has. */
  readonly endedAt?: string;
  /** Exit status; only when it has ended. */
  readonly exitCode?: number;
  /** Wall-clock time in milliseconds; only when it has ended. */
  readonly durationMs?: number;
  /** Whether the time limit ended it; only when it has ended. */
  readonly timedOut?: boolean;
  /** Commands that it called and that are not here; only if there are any. */
  readonly missing?: readonly string[];
  /** What would provide the missing commands; only if there are any. */
  readonly unavailable?: CapabilitiesError | null;
  /** Who ran it; only when it has ended. */
  readonly provider?: string;
  /** The provider that could not run all of it; only if another one did. */
  readonly fallbackFrom?: string;
  /** Commands that another provider ran; only if there are any. */
  readonly elsewhere?: readonly string[];
  /** What ended it: a limit or a cancellation. */
  readonly cause?: CapabilitiesError | null;
  /** What it did with the network; only when it has ended, and has one. */
  readonly network?: RunsNetwork;
}

export interface JobAnswer {
  /** Its id. */
  readonly jobId?: string;
  /** The beginning of its command line. */
  readonly command?: string;
  /** `running`, `ended`, `cancelled` or `stopped` (by a limit). */
  readonly state?: string;
  /** When it was started. */
  readonly startedAt?: string;
  /** When it ended; only when it has. */
  readonly endedAt?: string;
  /** Exit status; only when it has ended. */
  readonly exitCode?: number;
  /** Wall-clock time in milliseconds; only when it has ended. */
  readonly durationMs?: number;
  /** Whether the time limit ended it; only when it has ended. */
  readonly timedOut?: boolean;
  /** Commands that it called and that are not here; only if there are any. */
  readonly missing?: readonly string[];
  /** What would provide the missing commands; only if there are any. */
  readonly unavailable?: CapabilitiesError | null;
  /** Who ran it; only when it has ended. */
  readonly provider?: string;
  /** The provider that could not run all of it; only if another one did. */
  readonly fallbackFrom?: string;
  /** Commands that another provider ran; only if there are any. */
  readonly elsewhere?: readonly string[];
  /** What ended it: a limit or a cancellation. */
  readonly cause?: CapabilitiesError | null;
  /** What it did with the network; only when it has ended, and has one. */
  readonly network?: RunsNetwork;
  /** The sandbox. */
  readonly sandboxId: string;
  /** What it wrote to standard output, from the offset on. */
  readonly stdout?: string;
  /** What it wrote to standard error, from the offset on. */
  readonly stderr?: string;
  /** Where `stdout` begins; later than asked when that is no longer kept. */
  readonly stdoutOffset?: number;
  /** Where `stderr` begins; later than asked when that is no longer kept. */
  readonly stderrOffset?: number;
  /** Where the next part of standard output begins. */
  readonly stdoutNext?: number;
  /** Where the next part of standard error begins. */
  readonly stderrNext?: number;
  /** Those that there are, oldest first. */
  readonly jobs?: readonly JobJobs[];
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `ListCheckpointsCheckpoints`: A checkpoint. */
export interface ListCheckpointsCheckpoints {
  /** Its id, for sandbox_restore and sandbox_fork. */
  readonly id: string;
  /** The sandbox whose state it is. */
  readonly sandboxId: string;
  /** Its name, if it has one. */
  readonly name?: string;
  /** Its note, if there is one. Untrusted text. */
  readonly note?: string;
  /** both, memory or files. */
  readonly include: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** Bytes of the state, shared ones included. */
  readonly sizeBytes: number;
}

export interface ListCheckpointsAnswer {
  /** All of them. */
  readonly checkpoints: readonly ListCheckpointsCheckpoints[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface LoadAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The variable. */
  readonly var: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** What was done, in one sentence. */
  readonly message: string;
  /**
   * What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier
   * (as before an earlier run) or fresh. Reported once.
   */
  readonly recovery?: string;
  /** Why, if the outcome of this run does not say it. */
  readonly recoveryReason?: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface MakeFolderAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The file or folder, as it is called now. */
  readonly path: string;
  /** What was done. */
  readonly message: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface ReadAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The file. */
  readonly path: string;
  /** How `content` is written: text or base64. */
  readonly encoding: string;
  /** The part of the file. Untrusted data. */
  readonly content: string;
  /** First byte that is shown. */
  readonly offset: number;
  /** Bytes that are shown. */
  readonly bytes: number;
  /** Bytes of the whole file. */
  readonly sizeBytes: number;
  /** When its content was changed, UTC. */
  readonly modifiedAt: string;
  /** Where to read on; only when there is more. */
  readonly nextOffset?: number;
  /** First line that is shown, when lines were asked for. */
  readonly startLine?: number;
  /** Line to continue from; only if there is more. */
  readonly nextLine?: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface RemoveCheckpointAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The id of the checkpoint that is gone. */
  readonly checkpointId: string;
  /** What was done. */
  readonly message: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface RestoreAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The checkpoint, or the step. */
  readonly checkpointId: string;
  /** What was done, and what could not be restored. */
  readonly message: string;
  /**
   * Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
   * when something was.
   */
  readonly lost?: Readonly<Record<string, unknown>>;
  /**
   * Memory that belongs to other builds of guests; only if there is any. The language continues from it if that
   * build is installed again; sandbox_reset drops it.
   */
  readonly olderMemory?: readonly CheckpointOlderMemory[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface ResumeAnswer {
  /** Its id. */
  readonly id: string;
  /** Its name; means the same as the id in every tool. */
  readonly name: string;
  /** The caller's own key, if it was made with one. */
  readonly sessionKey?: string;
  /** creating, running, stopped or error. */
  readonly phase: string;
  /** provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error. */
  readonly status: string;
  /** idle, user or quota; only when it is stopped. */
  readonly stopReason?: string;
  /** When it was stopped, UTC. */
  readonly stoppedAt?: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** When it was last called, UTC. */
  readonly lastActivityAt: string;
  /** Languages whose interpreters this server has in memory. */
  readonly awake: readonly string[];
  /**
   * session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
   * files: only files are kept, variables as long as it is awake.
   */
  readonly persistence: string;
  /** call: each call is saved before it is answered. Else it is a moment later. */
  readonly durability?: string;
  /** Who runs it: wasm, docker or kubernetes. */
  readonly provider: string;
  /** The provider that was asked for and could not be had; only when there is one. */
  readonly fallbackFrom?: string;
  /** The image of its container, null for the operator's default; else the one that it was made from, if any. */
  readonly image?: unknown;
  /** What it may use. */
  readonly limits: CreateLimits;
  /** What it may reach; only if it has a network. */
  readonly network?: CreateNetwork;
  /** Without calls for this long it is stopped. */
  readonly idleTimeoutMs: number;
  /** Stopped for this long it is destroyed. */
  readonly retentionMs: number;
  /** Folders of the host that it sees now, skills among them; not in lists. */
  readonly mounts?: readonly CreateMounts[];
  /**
   * Grants that the sandbox was created with and that the operator does not give now; they return when they are
   * given again.
   */
  readonly withdrawn?: readonly CreateWithdrawn[];
  /**
   * Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
   * when something was.
   */
  readonly lost?: Readonly<Record<string, unknown>>;
  /**
   * Memory that belongs to other builds of guests; only if there is any. The language continues from it if that
   * build is installed again; sandbox_reset drops it.
   */
  readonly olderMemory?: readonly CheckpointOlderMemory[];
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface StopAnswer {
  /** Its id. */
  readonly id: string;
  /** Its name; means the same as the id in every tool. */
  readonly name: string;
  /** The caller's own key, if it was made with one. */
  readonly sessionKey?: string;
  /** creating, running, stopped or error. */
  readonly phase: string;
  /** provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error. */
  readonly status: string;
  /** idle, user or quota; only when it is stopped. */
  readonly stopReason?: string;
  /** When it was stopped, UTC. */
  readonly stoppedAt?: string;
  /** When it was made, UTC. */
  readonly createdAt: string;
  /** When it was last called, UTC. */
  readonly lastActivityAt: string;
  /** Languages whose interpreters this server has in memory. */
  readonly awake: readonly string[];
  /**
   * session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
   * files: only files are kept, variables as long as it is awake.
   */
  readonly persistence: string;
  /** call: each call is saved before it is answered. Else it is a moment later. */
  readonly durability?: string;
  /** Who runs it: wasm, docker or kubernetes. */
  readonly provider: string;
  /** The provider that was asked for and could not be had; only when there is one. */
  readonly fallbackFrom?: string;
  /** The image of its container, null for the operator's default; else the one that it was made from, if any. */
  readonly image?: unknown;
  /** What it may use. */
  readonly limits: CreateLimits;
  /** What it may reach; only if it has a network. */
  readonly network?: CreateNetwork;
  /** Without calls for this long it is stopped. */
  readonly idleTimeoutMs: number;
  /** Stopped for this long it is destroyed. */
  readonly retentionMs: number;
  /** Folders of the host that it sees now, skills among them; not in lists. */
  readonly mounts?: readonly CreateMounts[];
  /**
   * Grants that the sandbox was created with and that the operator does not give now; they return when they are
   * given again.
   */
  readonly withdrawn?: readonly CreateWithdrawn[];
  /**
   * Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
   * when something was.
   */
  readonly lost?: Readonly<Record<string, unknown>>;
  /**
   * Memory that belongs to other builds of guests; only if there is any. The language continues from it if that
   * build is installed again; sandbox_reset drops it.
   */
  readonly olderMemory?: readonly CheckpointOlderMemory[];
  /**
   * Languages whose interpreters run in a container and whose variables are not in the state: they last as long as
   * it runs.
   */
  readonly notHeld?: readonly string[];
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

/** What is answered as `SubAgentOutputs`: A variable. */
export interface SubAgentOutputs {
  /** Its name. */
  readonly name: string;
  /** The name of its type. */
  readonly type: string;
  /** The beginning of its representation. Untrusted text. */
  readonly summary: string;
}

/** What is answered as `SubAgentTranscript`: A turn of the model. */
export interface SubAgentTranscript {
  /** Its number. */
  readonly turn: number;
  /** What the model wrote, long texts without their middle. Untrusted text. */
  readonly said: string;
  /** What it was shown: output, values and exceptions of its code; empty when it had ended the task. Untrusted text. */
  readonly seen: string;
}

export interface SubAgentAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The outputs, which are variables of the sandbox, in the order of the signature. */
  readonly outputs?: readonly SubAgentOutputs[];
  /** Turns of the model. */
  readonly iterations: number;
  /** Calls of the model. */
  readonly llmCalls: number;
  /** Tokens of the prompts. */
  readonly inputTokens: number;
  /** Tokens of the answers. */
  readonly outputTokens: number;
  /** What was done, in one sentence. */
  readonly message?: string;
  /** The last 20 turns. */
  readonly transcript: readonly SubAgentTranscript[];
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface UploadAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The file, or the folder that was unpacked into. */
  readonly path: string;
  /** Files that were written. */
  readonly files: number;
  /** Bytes that were written. */
  readonly bytes: number;
  /** Bytes that the file has now; only of a piece. */
  readonly sizeBytes?: number;
  /** SHA-256 of what was uploaded, in hexadecimal. */
  readonly sha256: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface VarsAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** Sorted by name. */
  readonly variables: readonly SubAgentOutputs[];
  /** How many there are, shown or not. */
  readonly total: number;
  /**
   * What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier
   * (as before an earlier run) or fresh. Reported once.
   */
  readonly recovery?: string;
  /** Why, if the outcome of this run does not say it. */
  readonly recoveryReason?: string;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}

export interface WriteAnswer {
  /** The sandbox. */
  readonly sandboxId: string;
  /** The file. */
  readonly path: string;
  /** Bytes that were written. */
  readonly bytes: number;
  /** Bytes of the whole file. */
  readonly sizeBytes: number;
  /** Whose it was to do; only when another provider did it. */
  readonly fallbackFrom?: string;
  /** Why what the call did is not saved, if it could not be. */
  readonly unsaved?: CreateUnsaved;
  /** Why the call was refused; null when it was not. */
  readonly error: CapabilitiesError | null;
}
