//! Mends of what is read from devices: as much as was asked for, in pieces that the host gives, and held once. What cannot be
//! held is refused by the command, and what was printed before is with the host already.

use super::once;
use crate::guests::tree::Edit;

pub(super) const EDITS: &[Edit] = &[
    // One call for random bytes gives at most 1 MiB.
    once(
        "src/builtins/dd.rs",
        "                getrandom::fill(&mut buf)\n                    .map(|()| buf)",
        "                buf.chunks_mut(1 << 20)\n                    .try_for_each(getrandom::fill)\n                    .map(|()| buf)",
    ),
    once(
        "src/builtins/dd.rs",
        "        \"/dev/zero\" => Some(Ok(vec![0; len])),",
        "        \"/dev/zero\" => Some(zeros(len)),",
    ),
    once(
        "src/builtins/dd.rs",
        "            let mut buf = vec![0; len];\n            Some(",
        "            let mut buf = match zeros(len) {\n                Ok(buf) => buf,\n                Err(error) => return Some(Err(error)),\n            };\n            Some(",
    ),
    once(
        "src/builtins/dd.rs",
        "\"dd: random device unavailable\".to_string()",
        "\"random device unavailable\".to_string()",
    ),
    once(
        "src/builtins/dd.rs",
        "                    Some(Err(e)) => return Ok(ExecResult::err(format!(\"{e}\\n\"), 1)),",
        "                    Some(Err(e)) => return Ok(ExecResult::err(format!(\"dd: error reading '{path}': {e}\\n\"), 1)),",
    ),
    // The input is copied once; what makes up a whole file is written as it is.
    once(
        "src/builtins/dd.rs",
        "o.ibs, o.sync, budget.as_ref())?;\n        if o.ucase",
        "o.ibs, o.sync, budget.as_ref())?;\n        drop(input);\n        if o.ucase",
    ),
    once(
        "src/builtins/dd.rs",
        r"                let end = offset + data.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[offset..end].copy_from_slice(&data);
                if let Err(e) = ctx.fs.write_file(&p, &file).await {",
        r"                let end = offset + data.len();
                let written = if offset == 0 && file.len() <= end {
                    drop(file);
                    ctx.fs.write_file(&p, &data).await
                } else {
                    if file.len() < end {
                        file.resize(end, 0);
                    }
                    file[offset..end].copy_from_slice(&data);
                    ctx.fs.write_file(&p, &file).await
                };
                if let Err(e) = written {",
    ),
    // A device has no end: the first bytes of it are as many as were asked for.
    once(
        "src/builtins/dd.rs",
        "fn device_bytes(path: &str, len: usize)",
        r#"/// So many zeros, if there is memory for them.
fn zeros(len: usize) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| format!("Cannot allocate memory: {len} bytes are more than the shell can hold"))?;
    bytes.resize(len, 0);
    Ok(bytes)
}

pub(super) fn device_bytes(path: &str, len: usize)"#,
    ),
    once(
        "src/builtins/headtail.rs",
        "            match ctx.fs.read_file(&path).await {\n                Ok(content) => content,",
        r#"            let device = match (path.to_str(), opts.selection, opts.unit) {
                (Some(name), Selection::First(count), Unit::Bytes) => {
                    super::dd::device_bytes(name, count.min(super::limits::DD_MAX_BYTES))
                }
                _ => None,
            };
            let read = match device {
                Some(Ok(content)) => Ok(content),
                Some(Err(reason)) => {
                    stderr.push_str(&format!("{cmd}: error reading '{file}': {reason}\n"));
                    continue;
                }
                None => ctx.fs.read_file(&path).await,
            };
            match read {
                Ok(content) => std::borrow::Cow::Owned(content),"#,
    ),
    // Of the first or only input, what is shown is held once.
    once(
        "src/builtins/headtail.rs",
        r"                .map(|s| s.as_bytes().to_vec())
                .unwrap_or_default()",
        r"                .map(|s| std::borrow::Cow::Borrowed(s.as_bytes()))
                .unwrap_or_default()",
    ),
    once(
        "src/builtins/headtail.rs",
        "        out.extend_from_slice(select(&data, opts.selection, opts.unit));",
        r#"        let part = select(&data, opts.selection, opts.unit);
        let (from, length) = (part.as_ptr() as usize - data.as_ptr() as usize, part.len());
        match data {
            std::borrow::Cow::Owned(mut data) if out.is_empty() => {
                data.truncate(from + length);
                data.drain(..from);
                out = data;
            }
            data if out.try_reserve(length).is_ok() => {
                out.extend_from_slice(&data[from..from + length]);
            }
            _ => stderr.push_str(&format!(
                "{cmd}: {file}: Cannot allocate memory: {length} bytes are more than the shell can hold\n"
            )),
        }"#,
    ),
    // `head` asks a pipe for as much as it shows, also where a unit stands behind the number (`-c 20M`).
    once(
        "src/builtins/headtail.rs",
        "fn count_multiplier(suffix: &str) -> Option<usize> {",
        "/// A count without a sign.
pub(crate) fn plain_count(val: &str) -> Option<usize> {
    parse_count(val).and_then(|(sign, count)| matches!(sign, Sign::None).then_some(count))
}

fn count_multiplier(suffix: &str) -> Option<usize> {",
    ),
    once(
        "src/builtins/mod.rs",
        "pub use headtail::{Head, Tail};",
        "pub(crate) use headtail::plain_count;\npub use headtail::{Head, Tail};",
    ),
    once(
        "src/interpreter/mod.rs",
        "value.and_then(|v| v.parse::<usize>().ok())",
        "value.and_then(builtins::plain_count)",
    ),
    // What a command reads whole from a pipe and cannot be held ends the command line in words.
    once(
        "src/interpreter/mod.rs",
        "async fn fill_stdin_from_pipe(&mut self, name: &str, args: &[String]) {
        let Some(pipe) = self.pipe_in.clone() else {
            return;
        };
        let want = stdin_demand(name, args);
        if want == StdinDemand::Nothing {
            return;
        }",
        "async fn fill_stdin_from_pipe(&mut self, name: &str, args: &[String]) -> Result<()> {
        let Some(pipe) = self.pipe_in.clone() else {
            return Ok(());
        };
        let want = stdin_demand(name, args);
        if want == StdinDemand::Nothing {
            return Ok(());
        }",
    ),
    once(
        "src/interpreter/mod.rs",
        r"            buf.extend_from_slice(&chunk);
        }
        if eof || matches!(want, StdinDemand::All) {",
        r#"            if buf.try_reserve(chunk.len()).is_err() {
                let held = buf.len();
                drop(buf);
                pipe.close_read();
                return Err(crate::error::Error::ResourceLimit(crate::limits::LimitExceeded::Memory(
                    format!("`{name}` reads its input whole, and more than {held} bytes of it do not fit"),
                )));
            }
            lines += want.lines(&chunk);
            buf.extend_from_slice(&chunk);
        }
        if eof || matches!(want, StdinDemand::All) {"#,
    ),
    // Lines are counted as they come, and not all of them again for each.
    once(
        "src/interpreter/mod.rs",
        r"    fn satisfied(self, buf: &[u8]) -> bool {
        match self {
            Self::Nothing => true,
            Self::Line => buf.contains(&b'\n'),
            Self::Lines(n) => buf.iter().filter(|&&b| b == b'\n').count() >= n,
            Self::Bytes(n) => buf.len() >= n,
            Self::All => false,
        }
    }",
        r"    /// Whether so many bytes, with so many ends of lines in them, are enough.
    fn satisfied(self, bytes: usize, lines: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::Line => lines > 0,
            Self::Lines(n) => lines >= n,
            Self::Bytes(n) => bytes >= n,
            Self::All => false,
        }
    }

    /// The ends of lines in `bytes`, where they matter.
    fn lines(self, bytes: &[u8]) -> usize {
        match self {
            Self::Line | Self::Lines(_) => bytes.iter().filter(|&&b| b == b'\n').count(),
            _ => 0,
        }
    }",
    ),
    once(
        "src/interpreter/mod.rs",
        "        while !want.satisfied(&buf) {",
        "        let mut lines = want.lines(&buf);\n        while !want.satisfied(buf.len(), lines) {",
    ),
    once(
        "src/interpreter/coproc.rs",
        "    while !demand.satisfied(&buf) {",
        "    let mut lines = 0;\n    while !demand.satisfied(buf.len(), lines) {",
    ),
    once(
        "src/interpreter/coproc.rs",
        "        buf.extend_from_slice(&chunk);\n    }\n    buf.into()",
        "        lines += demand.lines(&chunk);\n        buf.extend_from_slice(&chunk);\n    }\n    buf.into()",
    ),
    once(
        "src/interpreter/mod.rs",
        "        self.pipeline_stdin = Some(buf.into());
    }

    /// Start a pipeline stage:",
        "        self.pipeline_stdin = Some(buf.into());
        Ok(())
    }

    /// Start a pipeline stage:",
    ),
    once(
        "src/interpreter/mod.rs",
        "Box::pin(self.fill_stdin_from_pipe(name, &args)).await;",
        "Box::pin(self.fill_stdin_from_pipe(name, &args)).await?;",
    ),
    // A file becomes longer without being held: what does not fit on the disk is refused there.
    once(
        "src/builtins/truncate.rs",
        "            let current = if exists {",
        r#"            // Links and what is no file of the disk take the other way.
            let before = match std::fs::symlink_metadata(&path) {
                Ok(found) if found.is_file() => Some(found.len()),
                Err(_) if !exists && path.parent().is_some_and(std::path::Path::is_dir) => Some(0),
                _ => None,
            };
            if let Some(before) = before {
                let new_len = match target_spec.resolve(before) {
                    Ok(n) => n,
                    Err(e) => return Ok(ExecResult::err(format!("truncate: {e}\n"), 1)),
                };
                let opened =
                    std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
                let set = opened.and_then(|opened| {
                    opened.set_len(new_len).inspect_err(|_| drop(opened.set_len(before)))
                });
                if let Err(e) = set {
                    let e = crate::error::Error::Io(e);
                    return Ok(ExecResult::err(
                        format!("truncate: cannot write '{}': {}\n", file, error_message(&e)),
                        1,
                    ));
                }
                continue;
            }

            let current = if exists {"#,
    ),
    // What a command line prints is with the host before the next command begins, whatever becomes of that. It goes through the
    // pipe as well, which paces commands.
    once(
        "src/execution.rs",
        "            stdout: Pipe::new(),
            stderr: Pipe::new(),
            capture,",
        "            stdout: Pipe::told(false),
            stderr: Pipe::told(true),
            capture,",
    ),
    once(
        "src/interpreter/pipe.rs",
        "    _metadata_storage: Option<crate::limits::ExecutionBudgetLease>,
}",
        "    _metadata_storage: Option<crate::limits::ExecutionBudgetLease>,
    /// The standard stream of the process that gets all that is written: `Some(true)`: standard error.
    told: Option<bool>,
}",
    ),
    once(
        "src/interpreter/pipe.rs",
        "            _metadata_storage: Some(storage),
        }))
    }",
        "            _metadata_storage: Some(storage),
            told: None,
        }))
    }

    /// One whose bytes go to standard output, or to standard error, when they are written.
    pub(crate) fn told(stderr: bool) -> Arc<Self> {
        Arc::new(Self { told: Some(stderr), ..Self::default() })
    }

    fn tell(&self, data: &[u8]) {
        use std::io::Write as _;
        let _ = match self.told {
            None => Ok(()),
            Some(true) => std::io::stderr().write_all(data),
            Some(false) => {
                let mut out = std::io::stdout().lock();
                out.write_all(data).and_then(|()| out.flush())
            }
        };
    }",
    ),
    once(
        "src/interpreter/pipe.rs",
        "        s.buf.extend_from_slice(data);
        s.wake_reader();
        true",
        "        self.tell(data);
        s.buf.extend_from_slice(data);
        s.wake_reader();
        true",
    ),
    once(
        "src/interpreter/pipe.rs",
        "                let n = data.len().min(room);
",
        "                let n = data.len().min(room);
                self.tell(&data[..n]);
",
    ),
];
