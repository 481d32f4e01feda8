//! Mends of what is read from devices: as much as was asked for, in pieces that the host gives, and held once.

use super::once;
use crate::guests::tree::Edit;

pub(super) const EDITS: &[Edit] = &[
    // One call for random bytes gives at most 1 MiB.
    once(
        "src/builtins/dd.rs",
        "                getrandom::fill(&mut buf)\n                    .map(|()| buf)",
        "                buf.chunks_mut(1 << 20)\n                    .try_for_each(getrandom::fill)\n                    .map(|()| buf)",
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
        "pub(super) fn device_bytes(path: &str, len: usize)",
    ),
    once(
        "src/builtins/headtail.rs",
        "            match ctx.fs.read_file(&path).await {\n                Ok(content) => content,",
        r"            let device = match (path.to_str(), opts.selection, opts.unit) {
                (Some(name), Selection::First(count), Unit::Bytes) => {
                    super::dd::device_bytes(name, count.min(super::limits::DD_MAX_BYTES))
                }
                _ => None,
            };
            let read = match device {
                Some(Ok(content)) => Ok(content),
                _ => ctx.fs.read_file(&path).await,
            };
            match read {
                Ok(content) => content,",
    ),
];
