//! Mends of the commands that text passes through: bytes that are no UTF-8 stay what they are, and speed.

use super::once;
use crate::guests::tree::Edit;

pub(super) const EDITS: &[Edit] = &[
    once(
        "src/builtins/awk/io.rs",
        "                        String::from_utf8_lossy(&bytes).into_owned()",
        "                        crate::stream::decode(&bytes).into_owned()",
    ),
    once(
        "src/builtins/awk/io.rs",
        "Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),",
        "Ok(bytes) => crate::stream::decode(&bytes).into_owned(),",
    ),
    once(
        "src/builtins/awk/io.rs",
        "let data = data.as_bytes().to_vec();",
        "let data = crate::stream::encode(data).into_owned();",
    ),
    once(
        "src/builtins/awk/mod.rs",
        "(f.clone(), String::from_utf8_lossy(&bytes).into_owned())",
        "(f.clone(), crate::stream::decode(&bytes).into_owned())",
    ),
    once(
        "src/builtins/cuttr.rs",
        "        let byte_mode = self.c_locale || stdin.text().is_err();",
        r"        let ascii = stdin.as_bytes().is_ascii() && self.args.iter().all(|set| set.is_ascii() && !set.contains('\\'));
        let byte_mode = self.c_locale || ascii || stdin.text().is_err();",
    ),
    once(
        "src/builtins/cuttr.rs",
        r"    let mut output = Vec::with_capacity(stdin.len());
    for &byte in stdin {
        if delete && effective.contains(&byte) {
            continue;
        }
        let mapped = if !delete {
            effective
                .iter()
                .position(|candidate| *candidate == byte)
                .and_then(|position| translated.get(position).or(translated.last()))
                .copied()
                .unwrap_or(byte)
        } else {
            byte
        };",
        r"    let mut dropped = [false; 256];
    let mut table: [u8; 256] = std::array::from_fn(|byte| byte as u8);
    for (position, &byte) in effective.iter().enumerate().rev() {
        dropped[usize::from(byte)] = delete;
        if !delete && let Some(&to) = translated.get(position).or(translated.last()) {
            table[usize::from(byte)] = to;
        }
    }
    let mut output = Vec::with_capacity(stdin.len());
    for &byte in stdin {
        if dropped[usize::from(byte)] {
            continue;
        }
        let mapped = table[usize::from(byte)];",
    ),
    once(
        "src/builtins/echo.rs",
        "return Ok(ExecResult::ok_bytes(output));",
        "return Ok(ExecResult::ok_bytes(crate::StreamData::from_mixed(output).into_bytes()));",
    ),
    once(
        "src/builtins/echo.rs",
        "        Ok(ExecResult::ok_bytes(output))",
        "        Ok(ExecResult::ok_bytes(crate::StreamData::from_mixed(output).into_bytes()))",
    ),
    once(
        "src/builtins/hextools.rs",
        r"            // Output raw bytes as lossy UTF-8
            let output = String::from_utf8_lossy(&bytes).to_string();
            Ok(ExecResult::ok(output))",
        "            Ok(ExecResult::ok_bytes(bytes))",
    ),
    once(
        "src/builtins/printf.rs",
        r"                value: String::from_utf8_lossy(&output).into_owned(),
            });
            Ok(result)
        } else {
            let mut result = ExecResult::ok_bytes(output);",
        r"                value: crate::stream::decode(&output).into_owned(),
            });
            Ok(result)
        } else {
            let mut result = ExecResult::ok_bytes(crate::StreamData::from_mixed(output).into_bytes());",
    ),
    once(
        "src/builtins/printf.rs",
        "                output.get_or_insert_with(|| bytes[..index].to_vec());",
        r#"                let octal = output.get_or_insert_with(|| bytes[..index].to_vec());
                octal.extend_from_slice(b"\\000");"#,
    ),
    once(
        "src/builtins/printf.rs",
        r"        if let Some(out) = &mut output {
            out.push(bytes[index]);
        }
        index += 1;",
        r"        // A backslash takes the next character with it.
        let pair = bytes[index] == b'\\' && index + 1 < bytes.len();
        let end = index + 1 + usize::from(pair);
        if let Some(out) = &mut output {
            out.extend_from_slice(&bytes[index..end]);
        }
        index = end;",
    ),
    once(
        "src/builtins/sed/mod.rs",
        "let text = String::from_utf8_lossy(&bytes);",
        "let text = crate::stream::decode(&bytes);",
    ),
    once(
        "src/builtins/sed/mod.rs",
        "Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),",
        "Ok(bytes) => crate::stream::decode(&bytes).into_owned(),",
    ),
    once(
        "src/builtins/sed/mod.rs",
        r#"                    Ok(bytes) => match String::from_utf8(bytes) {
                        Ok(text) => text,
                        Err(e) => {
                            if opts.in_place.is_some() {
                                return Ok(ExecResult::err(
                                    format!(
                                        "sed: couldn't edit {name}: not a valid UTF-8 text file\n"
                                    ),
                                    1,
                                ));
                            }
                            String::from_utf8_lossy(e.as_bytes()).into_owned()
                        }
                    },"#,
        "                    Ok(bytes) => crate::StreamData::from(bytes).to_string(),",
    ),
    once(
        "src/builtins/sed/mod.rs",
        "if let Err(e) = ctx.fs.write_file(&path, sink.buf.as_bytes()).await {",
        "if let Err(e) = ctx.fs.write_file(&path, &crate::stream::encode(&sink.buf)).await {",
    ),
    once(
        "src/builtins/sed/mod.rs",
        "if let Err(e) = ctx.fs.write_file(&backup_path, original.as_bytes()).await {",
        "if let Err(e) = ctx.fs.write_file(&backup_path, &crate::stream::encode(&original)).await {",
    ),
    once("src/builtins/sed/mod.rs", "content.as_bytes(),", "&crate::stream::encode(&content),"),
    once(
        "src/builtins/sortuniq.rs",
        r"
    fn compare(&self, a: &str, b: &str) -> Ordering {",
        r"
    /// Sorts lines; where the keys are in them is found once a line.
    fn sorted(&self, mut lines: Vec<String>) -> Vec<String> {
        if self.keys.is_empty() {
            lines.sort_by(|a, b| self.compare(a, b));
            return lines;
        }
        let width = self.keys.len();
        let texts = |line: &'_ String| -> Vec<(usize, usize)> {
            let base = line.as_ptr() as usize;
            let texts = self.keys.iter().map(|key| key_text(line, self.tab, key));
            texts.map(|text| (text.as_ptr() as usize - base, text.len())).collect()
        };
        let places: Vec<(usize, usize)> = lines.iter().flat_map(texts).collect();
        let text = |line: usize, key: usize| {
            let (from, length) = places[line * width + key];
            &lines[line].as_bytes()[from..from + length]
        };
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by(|&a, &b| {
            for (at, key) in self.keys.iter().enumerate() {
                let d = self.compare_key(text(a, at), text(b, at), &key.opts);
                if d != Ordering::Equal {
                    return if key.opts.reverse { d.reverse() } else { d };
                }
            }
            if self.unique || self.stable {
                return Ordering::Equal;
            }
            let d = lines[a].as_bytes().cmp(lines[b].as_bytes());
            if self.reverse { d.reverse() } else { d }
        });
        order.into_iter().map(|line| std::mem::take(&mut lines[line])).collect()
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {",
    ),
    once(
        "src/builtins/sortuniq.rs",
        r"            let mut v = streams.concat();
            // Stable so `-u` keeps the first input line of each equal run.
            v.sort_by(|a, b| cfg.compare(a, b));
            v",
        r"            let lines: Vec<String> = streams.drain(..).flatten().collect();
            // Stable so `-u` keeps the first input line of each equal run.
            cfg.sorted(lines)",
    ),
    once(
        "src/builtins/sortuniq.rs",
        r#"            if let Err(e) = ctx.fs.write_file(&path, output.as_bytes()).await {
                return Ok(sort_err(format!("sort: {}: {}\n", outfile, e)));"#,
        r#"            if let Err(e) = ctx.fs.write_file(&path, &crate::stream::encode(&output)).await {
                return Ok(sort_err(format!("sort: {}: {}\n", outfile, e)));"#,
    ),
    once(
        "src/builtins/sortuniq.rs",
        r#"            if let Err(e) = ctx.fs.write_file(&path, output.as_bytes()).await {
                return Ok(ExecResult::err(format!("uniq: {out}: {e}\n"), 1));"#,
        r#"            if let Err(e) = ctx.fs.write_file(&path, &crate::stream::encode(&output)).await {
                return Ok(ExecResult::err(format!("uniq: {out}: {e}\n"), 1));"#,
    ),
];
