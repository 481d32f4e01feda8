//! What a model is told once about the tools as a whole, and under which name they are offered.

use crate::profile::Profile;

const SANDBOX: &str = "Run untrusted Python, JavaScript, TypeScript or PHP in a sandbox that starts in under a millisecond. \
Call `sandbox_eval` with `code` and `language`: the value of the last expression comes back typed, with stdout, stderr and any exception. ";

const FRESH: &str = "Every call has a fresh interpreter: nothing is kept between calls, so send all the code that \
    belongs together. `/tmp` is writable and is discarded after the call. ";

const LASTING: &str = "Without a sandbox every call has a fresh interpreter. To keep variables, imports and files between calls, pass \
    the same `session_key` (any key you choose) or create a sandbox with `sandbox_create` and pass its name as `sandbox`; files are under `/workspace`, and `sandbox_exec` runs bash command lines on them. \
Before something risky call `sandbox_checkpoint`, and go back with `sandbox_restore`; to try several ways from one state, `sandbox_fork`. \
An idle sandbox is suspended automatically and wakes at the next call; `sandbox_destroy` removes it. ";

const COMMON: &str = "There is no network but what the operator allows, and snippets cannot start processes. The whole standard library of CPython \
    3.14 is available; packages only if the operator allows `sandbox_install`. \
Default limits: 5 s, 128 MiB, 16 KiB of each output stream; raise them by argument up to the ceilings that \
`sandbox_capabilities` lists. \
An exception or an exit status is a normal result; `isError` means that the call was refused or that a limit ended it, and `error.code` says which.";

const EVAL: &str = "Call `framework__eval` with a PHP snippet to try something in the operator's project: its \
    packages can be used, and `container()` returns its services. ";

const EVAL_ALONE: &str = "Call `framework__eval` with a PHP snippet to try something. This server was started without a project: there are no packages and there is no `container()`. ";

const EVAL_COMMON: &str = "Every call is fresh; the value that the snippet returns comes back typed. There is no process, and no network but what the operator allows.";

const SPRITES: &str = "Named persistent sandboxes: `sprite_create` creates one, `sprite_checkpoint` saves its state, `sprite_restore` goes back to it. \
`sprite_shutdown` stops it, and any call wakes it.";

const RLM: &str = "One persistent Python REPL: `rlm_exec` runs code, and variables are kept. Load long inputs with \
    `rlm_load`, which does not show them, inspect parts with `rlm_get`, and print little. `llm_query(prompt)` asks a \
    language model from within the code, if one is available.";

const CODEGEN: &str = "One persistent sandbox, with Bash, Python, JavaScript and PHP and no network but what the operator allows. Work in `/workspace`: write files with `Bash` (here-documents), look at \
them with `Read`, change them with `Edit`. Check your work with `run_tests`, `run_lint` and `run_typecheck`: a call \
is an error as long as a check fails. Skills are under `/skills`, each with a SKILL.md; put results for the user into \
`/workspace/outputs`.";

const CODE: &str = "One persistent sandbox for programs: `sandbox_code` runs one, and variables and files are kept. Programs call \
the tools of connected servers; `sandbox_search_tools` finds them. Do several steps in one program, and print little.";

/// For these profiles, with sandboxes that last or without, in a project or in none.
pub(crate) fn of(profiles: &[Profile], lasting: bool, has_project: bool) -> String {
    let told: Vec<String> = profiles.iter().map(|profile| one(*profile, lasting, has_project)).collect();
    told.join("\n\n")
}

fn one(profile: Profile, lasting: bool, has_project: bool) -> String {
    match profile {
        Profile::Sandbox => [SANDBOX, if lasting { LASTING } else { FRESH }, COMMON].concat(),
        Profile::Eval => [if has_project { EVAL } else { EVAL_ALONE }, EVAL_COMMON].concat(),
        Profile::Sprites => SPRITES.into(),
        Profile::Rlm => RLM.into(),
        Profile::Codegen => CODEGEN.into(),
        Profile::Code => CODE.into(),
    }
}

/// The name and version under which these profiles are offered; S4-01 fixes those of `sprites`, alone.
pub(crate) fn identity(profiles: &[Profile]) -> (&'static str, &'static str) {
    match profiles {
        [Profile::Sprites] => ("automaker-sprites", "1.0.0"),
        _ => ("dormouse", env!("CARGO_PKG_VERSION")),
    }
}
