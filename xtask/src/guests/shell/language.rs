//! Mends of bashkit's language: streams that are shared and not copied, expansions as bash does them, and `$RANDOM`, whose seed
//! is not drawn while the image is built but by each instance.

use super::once;
use crate::guests::tree::Edit;

pub(super) const EDITS: &[Edit] = &[
    once(
        "src/interpreter/expansion.rs",
        "        let (anchor, pat) = if let Some(rest) = pattern.strip_prefix('#') {",
        r"        let (anchor, pat) = if global {
            (PatternAnchor::None, pattern)
        } else if let Some(rest) = pattern.strip_prefix('#') {",
    ),
    once(
        "src/interpreter/expansion.rs",
        r"        const MAX_GLOB_MATCH_CALLS: usize = 10_000;
        let bounds: Vec<usize> = value",
        r"        const MAX_GLOB_MATCH_CALLS: usize = 100_000_000;
        let bounds: Vec<usize> = value",
    ),
    once(
        "src/interpreter/expansion.rs",
        r"        const MAX_GLOB_MATCH_CALLS: usize = 10_000;
        let chars: Vec<char> = value.chars().collect();",
        r"        const MAX_GLOB_MATCH_CALLS: usize = 100_000_000;
        let chars: Vec<char> = value.chars().collect();",
    ),
    once(
        "src/interpreter/mod.rs",
        r"
/// `head [-n N | -c N | -N]` with no file operands; anything else reads all.",
        r#"
/// The length of the first `count` lines.
fn lines_len(bytes: &[u8], count: usize) -> usize {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut ends = ends.map(|(at, _)| at + 1);
    match count.checked_sub(1) {
        None => 0,
        Some(before) => ends.nth(before).unwrap_or(bytes.len()),
    }
}

/// A command that reads all of its standard input and has no file to read instead.
fn takes_all(name: &str, args: &[String]) -> bool {
    matches!(name, "cat" | "wc" | "sort" | "tac" | "rev" | "nl" | "md5sum" | "sha256sum")
        && args.iter().all(|arg| arg.starts_with('-'))
}

/// `head [-n N | -c N | -N]` with no file operands; anything else reads all."#,
    ),
    once(
        "src/interpreter/mod.rs",
        "String::from_utf8_lossy(bytes).into_owned()",
        "crate::stream::decode(bytes).into_owned()",
    ),
    once(
        "src/interpreter/mod.rs",
        r"                    let data = ps.clone();
                    if let Some(newline_pos) =",
        r"                    let mut data = ps.clone();
                    if let Some(newline_pos) =",
    ),
    once(
        "src/interpreter/mod.rs",
        r"                            String::from_utf8_lossy(&data.as_bytes()[..newline_pos]).into_owned();
                        self.pipeline_stdin = Some(data.as_bytes()[newline_pos + 1..].into());",
        r"                            crate::stream::decode(&data.as_bytes()[..newline_pos]).into_owned();
                        data.split_front(newline_pos + 1);
                        self.pipeline_stdin = Some(data);",
    ),
    once(
        "src/interpreter/mod.rs",
        r#"                        "-n" => !args[1].is_empty(),"#,
        r#"                        "-n" => !args[1].is_empty(),
                        "-o" => {
                            builtins::set_o_option_on(&self.scoped.variables, &args[1]).unwrap_or(false)
                        }"#,
    ),
    once(
        "src/interpreter/mod.rs",
        "        let mut want_command = false;",
        r"        let mut want_command = false;
        let mut from_input = false;",
    ),
    once(
        "src/interpreter/mod.rs",
        "                            'l' | 'r' | 's' | 'D' => {}",
        r"                            's' => from_input = on,
                            'l' | 'r' | 'D' => {}",
    ),
    once(
        "src/interpreter/mod.rs",
        r"            script_args = args[idx + 1..].to_vec();
        } else if let Some(file) = args.get(idx) {",
        r"            script_args = args[idx + 1..].to_vec();
        } else if from_input {
            script_args = args[idx..].to_vec();
        } else if let Some(file) = args.get(idx) {",
    ),
    once(
        "src/interpreter/mod.rs",
        r"            (shell_name.to_string(), Vec::new())
        };",
        r"            (shell_name.to_string(), script_args)
        };",
    ),
    once(
        "src/interpreter/mod.rs",
        r#"            } else if let Some(ref ps) = self.pipeline_stdin {
                // An empty pipe is still stdin at EOF: `printf '' | { wc -l; }`
                // prints 0, not nothing.
                {
                    if name == "read" {
                        // Consume one record (line, `-d` delimiter, `-n` count,
                        // `\<newline>` continuation) from pipeline stdin.
                        let data = ps.clone();
                        let bytes = data.as_bytes();
                        let used = builtins::read_consumed_len(bytes, &args);
                        self.pipeline_stdin = Some(bytes[used..].into());
                        Some(bytes[..used].into())
                    } else {
                        Some(ps.clone())
                    }"#,
        r#"            } else if let Some(ps) = self.pipeline_stdin.as_mut() {
                // An empty pipe is still stdin at EOF: `printf '' | { wc -l; }`
                // prints 0, not nothing. What a reader takes is gone for the next.
                let used = match stdin_demand(name, &args) {
                    _ if name == "read" => builtins::read_consumed_len(ps.as_bytes(), &args),
                    StdinDemand::Lines(n) => lines_len(ps.as_bytes(), n),
                    StdinDemand::Bytes(n) => n,
                    StdinDemand::All if takes_all(name, &args) => usize::MAX,
                    _ => 0,
                };
                match used {
                    0 if name != "read" => Some(ps.clone()),
                    used => Some(ps.split_front(used)),"#,
    ),
    once(
        "src/parser/mod.rs",
        r"                        while let Some(&ch) = chars.peek() {
                            if ch == '\x00' {",
        r"                        let mut inner = 0usize;
                        while let Some(&ch) = chars.peek() {
                            if ch == '$' {
                                pattern.push(chars.next().unwrap());
                                if chars.peek() == Some(&'{') {
                                    pattern.push(chars.next().unwrap());
                                    inner += 1;
                                }
                                continue;
                            }
                            if ch == '}' && inner > 0 {
                                pattern.push(chars.next().unwrap());
                                inner -= 1;
                                continue;
                            }
                            if ch == '\x00' {",
    ),
    once(
        "src/parser/mod.rs",
        "} else if !in_dq && (ch == '/' || ch == '}') {",
        "} else if !in_dq && inner == 0 && (ch == '/' || ch == '}') {",
    ),
    // What is disowned ends with its command line all the same, which is told.
    once(
        "src/interpreter/jobs.rs",
        "    next_pid: u32,\n    running: FuturesUnordered<Running>,\n",
        "    next_pid: u32,\n    /// Disowned jobs that run.\n    disowned: BTreeMap<usize, String>,\n\
         \x20   running: FuturesUnordered<Running>,\n",
    ),
    once(
        "src/interpreter/jobs.rs",
        "            next_pid: FIRST_PID,\n            running: FuturesUnordered::new(),\n",
        "            next_pid: FIRST_PID,\n            disowned: BTreeMap::new(),\n            running: FuturesUnordered::new(),\n",
    ),
    once(
        "src/interpreter/jobs.rs",
        "        self.jobs.remove(&id).is_some()\n",
        r"        let Some(job) = self.jobs.remove(&id) else {
            return false;
        };
        if job.result.is_none() {
            self.disowned.insert(id, job.command);
        }
        true
",
    ),
    once(
        "src/interpreter/jobs.rs",
        "    fn finish(&mut self, id: usize, result: Option<ExecResult>) {\n",
        r#"    /// What is to be said of disowned jobs that are ended now.
    pub fn farewell(&mut self) -> String {
        let left = std::mem::take(&mut self.disowned).into_values();
        left.map(|command| {
            format!(
                "bash: warning: `{command}` was ended with its command line; start it in the background of the sandbox to let it go on\n"
            )
        })
        .collect()
    }

    fn finish(&mut self, id: usize, result: Option<ExecResult>) {
        self.disowned.remove(&id);
"#,
    ),
    once(
        "src/interpreter/mod.rs",
        r"            jobs.finish_all().await;
            let (out, err) = jobs.lock().take_finished_output();
",
        r"            jobs.finish_all().await;
            let (out, mut err) = jobs.lock().take_finished_output();
            err.append(&jobs.lock().farewell().into());
",
    ),
    // A module of our own in the place of one of bashkit's.
    once(
        "src/lib.rs",
        "mod stream;",
        concat!("mod stream {\n", include_str!("../../../../guests/shell/bashkit/stream.rs"), "}"),
    ),
    once(
        "src/lib.rs",
        "    ControlFlow, ExecResult, HistoryEntry, OutputCallback, ShellFeatures, ShellState,\n    ShellStateView,\n};",
        "    ControlFlow, ExecResult, HistoryEntry, OutputCallback, ShellFeatures, ShellState,\n    ShellStateView, forget_random_seeds,\n};",
    ),
    once(
        "src/interpreter/mod.rs",
        r"struct SubshellSnapshot {",
        r"/// How often the seeds that shells drew themselves have been forgotten. They are drawn when they are needed.
static SEEDS_FORGOTTEN: AtomicU32 = AtomicU32::new(1);

/// In the place of that number: the script has set the seed.
const SEED_SET: u32 = u32::MAX;

/// Lets every shell draw another seed when it next needs one, unless its script has set it.
pub fn forget_random_seeds() {
    SEEDS_FORGOTTEN.fetch_add(1, Ordering::Relaxed);
}

struct SubshellSnapshot {
    random_seeded: u32,",
    ),
    once(
        "src/interpreter/mod.rs",
        "    random_state: AtomicU32,\n",
        "    random_state: AtomicU32,\n    /// `SEEDS_FORGOTTEN` when the seed was drawn; 0: it was not.\n    random_seeded: AtomicU32,\n",
    ),
    once(
        "src/interpreter/mod.rs",
        r"            random_state: AtomicU32::new(random_seed),
            shell_features,",
        r"            random_state: AtomicU32::new(random_seed),
            random_seeded: AtomicU32::new(0),
            shell_features,",
    ),
    once(
        "src/interpreter/mod.rs",
        r"            random_state: AtomicU32::new(random_seed),
            shell_features: self.shell_features,",
        r"            random_state: AtomicU32::new(random_seed),
            random_seeded: AtomicU32::new(self.random_seeded.load(Ordering::Relaxed)),
            shell_features: self.shell_features,",
    ),
    once(
        "src/interpreter/mod.rs",
        "            random_state: self.random_state.load(Ordering::Relaxed),\n",
        "            random_state: self.random_state.load(Ordering::Relaxed),
            random_seeded: self.random_seeded.load(Ordering::Relaxed),\n",
    ),
    once(
        "src/interpreter/mod.rs",
        "            .store(snap.random_state, Ordering::Relaxed);\n",
        "            .store(snap.random_state, Ordering::Relaxed);
        self.random_seeded.store(snap.random_seeded, Ordering::Relaxed);\n",
    ),
    once(
        "src/interpreter/mod.rs",
        "                .store(value.parse::<u32>().unwrap_or(0), Ordering::Relaxed);\n",
        "                .store(value.parse::<u32>().unwrap_or(0), Ordering::Relaxed);
            self.random_seeded.store(SEED_SET, Ordering::Relaxed);\n",
    ),
    once(
        "src/interpreter/mod.rs",
        "                let prev = self.random_state.load(Ordering::Relaxed);\n",
        r"                let forgotten = SEEDS_FORGOTTEN.load(Ordering::Relaxed);
                let seeded = self.random_seeded.load(Ordering::Relaxed);
                if seeded != forgotten && seeded != SEED_SET {
                    let mut seed = [0; 4];
                    if getrandom::fill(&mut seed).is_ok() {
                        self.random_state.store(u32::from_le_bytes(seed), Ordering::Relaxed);
                    }
                    self.random_seeded.store(forgotten, Ordering::Relaxed);
                }
                let prev = self.random_state.load(Ordering::Relaxed);
",
    ),
];
