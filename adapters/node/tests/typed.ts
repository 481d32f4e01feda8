// A program in TypeScript, as strict as it can be: compiled and run by the phase `dist` of `cargo xtask test`.

import { type CheckpointAnswer, Dormouse, type DormouseError, type ExecAnswer, type Outcome, run, type Sandbox } from "dormouse-sandbox";

const outcome: Outcome<number> = await run<number>("1 + 1", { timeoutMs: 1_000, callbacks: { twice: ({ n }: { n: number }) => n * 2, other: { function: (a) => a, description: "x" } } });
const value: number = outcome.value;
const error: DormouseError | null = outcome.error;

// @ts-expect-error: options are those that there are
void (() => run("1", { timeout: 5 }));
// @ts-expect-error: a sandbox that lasts has its memory already
void (() => sandbox.run("1", { memoryBytes: 5 }));
// @ts-expect-error: arguments have types
void (() => sandbox.exec(5));

await using engine = new Dormouse({ state: process.argv[2] });
const sandbox: Sandbox = await engine.create({ name: "typed", memoryBytes: 64 << 20, env: ["A=1"] });
const said: ExecAnswer = await sandbox.exec("echo $A", { timeoutMs: 5_000 });
const exit: number = said.exitCode ?? -1;
const mark: CheckpointAnswer = await sandbox.checkpoint({ include: "both" });
let text = "";
for await (const piece of sandbox.stream("print('b')")) text += piece.text;
const limit: number = (await sandbox.get()).limits.memoryBytes;
console.log(value, error, said.stdout?.trim(), exit, mark.id.length > 0, text.trim(), limit);
