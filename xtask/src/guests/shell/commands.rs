//! Mends of single commands: options that scripts use exist, answers are right.

use super::once;
use crate::guests::tree::Edit;

/// What bashkit says for want of a network.
const CURL: &str = r#"                "curl: network access not configured\nURL: {}\n\
                 Note: Network builtins require the 'http_client' feature and\n\
                 URL allowlist configuration for security.\n","#;
const WGET: &str = r#"                "wget: network access not configured\nURL: {}\n\
                 Note: Network builtins require the 'http_client' feature and\n\
                 URL allowlist configuration for security.\n","#;

pub(super) const EDITS: &[Edit] = &[
    once(
        "src/builtins/archive.rs",
        r"        let mut to_stdout = false;
        let mut level = Compression::default();",
        r"        let mut to_stdout = false;
        let mut test = false;
        let mut level = Compression::default();",
    ),
    once(
        "src/builtins/archive.rs",
        r#"                    "keep" => keep = true,"#,
        r#"                    "keep" => keep = true,
                    "test" => (test, decompress, to_stdout) = (true, true, true),"#,
    ),
    once(
        "src/builtins/archive.rs",
        r"                        // No file names or timestamps are stored either way.
                        'n' | 'N' | 'q' => {}",
        r"                        't' => (test, decompress, to_stdout) = (true, true, true),
                        // No file names or timestamps are stored either way.
                        'n' | 'N' | 'q' | 'v' => {}",
    ),
    once(
        "src/builtins/archive.rs",
        "                                stdout: output.into(),",
        "                                stdout: if test { Vec::new() } else { output }.into(),",
    ),
    once(
        "src/builtins/archive.rs",
        r#"                let output = with_execution_budget(&ctx, |budget| {
                    read_with_limit(decoder, compressed_size, max_size, budget)
                        .map_err(|error| archive_io_error(&format!("gzip: {file}"), error))
                })?;"#,
        r#"                let output = match with_execution_budget(&ctx, |budget| {
                    read_with_limit(decoder, compressed_size, max_size, budget)
                        .map_err(|error| archive_io_error(&format!("gzip: {file}"), error))
                }) {
                    Ok(output) => output,
                    Err(error) => return Ok(ExecResult::err(format!("{error}\n"), 1)),
                };"#,
    ),
    once(
        "src/builtins/archive.rs",
        "                    stdout_data.try_extend_from_slice(&output)?;",
        r"                    if !test {
                        stdout_data.try_extend_from_slice(&output)?;
                    }",
    ),
    once("src/builtins/cmp.rs", r#"if print_bytes { "byte" } else { "char" },"#, r#""byte","#),
    once(
        "src/builtins/curl.rs",
        CURL,
        r#"                "curl: (6) Could not resolve host: no network in this sandbox (URL: {})\n","#,
    ),
    once(
        "src/builtins/curl.rs",
        WGET,
        r#"                "wget: unable to resolve host address: no network in this sandbox (URL: {})\n","#,
    ),
    once(
        "src/builtins/http.rs",
        "output.push_str(\"http: network access not configured\\n\");",
        "output.push_str(\"http: no network in this sandbox\\n\");",
    ),
    once(
        "src/builtins/date.rs",
        r#"
    // Try "Mon DD, YYYY" format"#,
        r#"
    // A day, then an hour of twelve: `2025-03-12 3pm`.
    if let Some((day, (hour, minute))) = lower
        .match_indices(' ')
        .find_map(|(at, _)| Some((&s[..at], half_day(lower[at..].trim())?)))
        && let Ok(at) = parse_base_date(day, now, timezone)
    {
        let wall = timezone.date_naive(&at).and_then(|day| day.and_hms_opt(hour, minute, 0));
        return timezone.local_to_utc(wall.ok_or_else(|| format!("invalid date '{s}'"))?, s);
    }
    // A day in words or by slashes, with a time or without.
    const DAYS: [&str; 6] = ["%d %b %Y", "%b %d %Y", "%b %d, %Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d"];
    const TIMES: [&str; 2] = [" %H:%M:%S", " %H:%M"];
    for day in DAYS {
        let whole = TIMES
            .iter()
            .find_map(|time| NaiveDateTime::parse_from_str(s, &format!("{day}{time}")).ok());
        if let Some(wall) = whole {
            return timezone.local_to_utc(wall, s);
        }
        let digits = day != "%Y%m%d" || s.len() == 8;
        if digits && let Ok(d) = NaiveDate::parse_from_str(s, day) {
            let wall = d.and_hms_opt(0, 0, 0).ok_or_else(|| format!("invalid date '{s}'"))?;
            return timezone.local_to_utc(wall, s);
        }
    }

    // Try "Mon DD, YYYY" format"#,
    ),
    once(
        "src/builtins/date.rs",
        r#"        regex::Regex::new(r"^(.+?)\s+([+-])\s+(\d+)\s+(second|minute|hour|day|week|month|year)s?$")
            .ok();"#,
        r#"        regex::Regex::new(
            r"^(.+?)\s+([+-]?)\s*(\d+)\s*(second|sec|minute|min|hour|day|week|month|year)s?(\s+ago)?$",
        )
        .ok();"#,
    ),
    once(
        "src/builtins/date.rs",
        r#"            let sign = if &caps[2] == "-" { -1i64 } else { 1i64 };"#,
        r#"            let back = (&caps[2] == "-") != caps.get(5).is_some();
            let sign = if back { -1i64 } else { 1i64 };"#,
    ),
    once(
        "src/builtins/date.rs",
        "            if let Ok(base_dt) = parse_base_date(orig_base, now, timezone) {",
        r#"            if let Ok(base_dt) = parse_date_string(orig_base, now, timezone) {
                let unit = match unit {
                    "sec" => "second",
                    "min" => "minute",
                    other => other,
                };
                if let "month" | "year" = unit {
                    let months = sign * n * if unit == "year" { 12 } else { 1 };
                    return months_on(base_dt, months)
                        .ok_or_else(|| format!("date out of range: '{}'", s));
                }"#,
    ),
    once(
        "src/builtins/date.rs",
        "    parse_base_date(s, now, timezone)",
        r#"    parse_base_date(s, now, timezone)
}

/// A day some months on; one that a month does not have is of the next.
fn months_on(from: DateTime<Utc>, months: i64) -> Option<DateTime<Utc>> {
    use chrono::Datelike as _;
    let whole = i64::from(from.year())
        .checked_mul(12)?
        .checked_add(i64::from(from.month0()))?
        .checked_add(months)?;
    let year = i32::try_from(whole.div_euclid(12)).ok()?;
    let month = u32::try_from(whole.rem_euclid(12)).ok()? + 1;
    let day = NaiveDate::from_ymd_opt(year, month, 1)?
        .checked_add_signed(Duration::days(i64::from(from.day0())))?;
    Some(day.and_time(from.time()).and_utc())
}

/// `3pm`, `3:30 pm`: the hour of 24 and the minute.
fn half_day(text: &str) -> Option<(u32, u32)> {
    let (clock, after_noon) = match text.strip_suffix("am") {
        Some(clock) => (clock, false),
        None => (text.strip_suffix("pm")?, true),
    };
    let (hour, minute) = clock.trim().split_once(':').unwrap_or((clock.trim(), "0"));
    let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
    (1..=12).contains(&hour).then_some((hour % 12 + if after_noon { 12 } else { 0 }, minute))"#,
    ),
    once(
        "src/builtins/expr.rs",
        r#"    // For now, support basic patterns: . (any char), .* (any), literal
    // Check if pattern has capturing group \(...\)
    let has_group = pattern.contains("\\(") && pattern.contains("\\)");

    if has_group {
        // Extract the group pattern
        // For simplicity, handle common case: prefix\(.*\)suffix
        if let Some(start) = pattern.find("\\(")
            && let Some(end) = pattern.find("\\)")
        {
            let before = &pattern[..start];
            let inner = &pattern[start + 2..end];
            let _after = &pattern[end + 2..];

            // Simple: if before matches start, capture inner
            if let Some(rest) = s.strip_prefix(before) {
                let matched = simple_match(rest, inner);
                return Ok(matched);
            }
        }
        Ok(String::new())
    } else {
        // No group: return number of matched characters
        let count = count_match(s, pattern);
        Ok(count.to_string())
    }
}

/// Count how many characters from start of s match the pattern
fn count_match(s: &str, pattern: &str) -> usize {
    // Build a simple matcher
    let mut si = 0;
    let mut pi = 0;
    let s_chars: Vec<char> = s.chars().collect();
    let p_chars: Vec<char> = pattern.chars().collect();

    while pi < p_chars.len() && si < s_chars.len() {
        if pi + 1 < p_chars.len() && p_chars[pi + 1] == '*' {
            // X* - match zero or more of X
            let match_char = p_chars[pi];
            pi += 2;
            // Greedy: match as many as possible
            while si < s_chars.len() && char_matches(s_chars[si], match_char) {
                si += 1;
            }
        } else if p_chars[pi] == '.' {
            // . matches any character
            si += 1;
            pi += 1;
        } else if s_chars[si] == p_chars[pi] {
            si += 1;
            pi += 1;
        } else {
            break;
        }
    }

    // Check if we consumed the entire pattern
    // Handle trailing X* patterns (they can match zero)
    while pi + 1 < p_chars.len() && p_chars[pi + 1] == '*' {
        pi += 2;
    }

    if pi >= p_chars.len() { si } else { 0 }
}

/// Simple match returning the matched portion
fn simple_match(s: &str, pattern: &str) -> String {
    let count = count_match(s, pattern);
    s.chars().take(count).collect()
}

fn char_matches(c: char, pattern: char) -> bool {
    pattern == '.' || c == pattern"#,
        r#"    let regex = super::sed::translate_posix_regex(pattern, false);
    let regex = super::search_common::build_regex(&format!("^(?:{})", regex.trim_start_matches('^')))
        .map_err(|_| "Invalid regular expression".to_string())?;
    let found = regex.captures(s);
    if regex.captures_len() > 1 {
        let group = found.and_then(|found| found.get(1).map(|group| group.as_str().to_string()));
        return Ok(group.unwrap_or_default());
    }
    let length = found.and_then(|found| found.get(0).map(|whole| whole.as_str().chars().count()));
    Ok(length.unwrap_or(0).to_string())"#,
    ),
    once(
        "src/builtins/jq/jaq_json/mod.rs",
        r"                            // this runs in constant time, at the price of
                            // changing the order of the elements
                            None => e.swap_remove(),",
        "                            None => e.shift_remove(),",
    ),
    once(
        "src/builtins/mod.rs",
        "set_o_var_by_name, shellopts_value, shopt_known, shopt_on,",
        "set_o_option_on, set_o_var_by_name, shellopts_value, shopt_known, shopt_on,",
    ),
    once(
        "src/builtins/patch.rs",
        r"    reverse: bool,
    target_file: Option<String>,",
        r"    reverse: bool,
    silent: bool,
    input: Option<String>,
    target_file: Option<String>,",
    ),
    once(
        "src/builtins/patch.rs",
        "        reverse: false,",
        r"        reverse: false,
        silent: false,
        input: None,",
    ),
    once(
        "src/builtins/patch.rs",
        "            opts.reverse = true;",
        r#"            opts.reverse = true;
        } else if p.flag_any(&["-s", "--silent", "--quiet"]) {
            opts.silent = true;
        } else if p.flag_any(&["-N", "--forward", "-f", "--force", "-t", "--batch", "-u", "--unified"])
            || p.flag("--no-backup-if-mismatch")
        {
            // Nothing is asked and nothing is kept here anyway.
        } else if let Some(val) = p.flag_value_opt("-i") {
            opts.input = Some(val.to_string());"#,
    ),
    once(
        "src/builtins/patch.rs",
        "        let input = match ctx.stdin {",
        r"        let from = match &opts.input {
            Some(name) => {
                let path = resolve_path(ctx.cwd, name);
                ctx.fs.read_file(&path).await.ok().map(crate::StreamData::from)
            }
            None => ctx.stdin.cloned(),
        };
        let input = match &from {",
    ),
    once(
        "src/builtins/patch.rs",
        r#"                            output.push_str(&format!("patching file {} (removed)\n", target));
                            ctx.fs.remove(&path, false).await?;
                        } else {
                            ctx.fs.write_file(&path, patched.as_bytes()).await?;
                            output.push_str(&format!("patching file {}\n", target));"#,
        r#"                            if !opts.silent {
                                output.push_str(&format!("patching file {target}\n"));
                            }
                            ctx.fs.remove(&path, false).await?;
                        } else {
                            ctx.fs.write_file(&path, &crate::stream::encode(&patched)).await?;
                            if !opts.silent {
                                output.push_str(&format!("patching file {target}\n"));
                            }"#,
    ),
    once(
        "src/builtins/pipeline.rs",
        r"        if !opts.verbose && plan.error.is_none() {
            if commands.is_empty() {
                return Ok(None);
            }
            return Ok(Some(ExecutionPlan::Batch { commands }));",
        r"        if !opts.verbose && plan.error.is_none() && commands.is_empty() {
            return Ok(None);",
    ),
    once(
        "src/builtins/pipeline.rs",
        r#"let input = ctx.stdin.map(|stdin| &**stdin).unwrap_or("");"#,
        "let input = ctx.stdin.map(|stdin| stdin.as_bytes()).unwrap_or_default();",
    ),
    once(
        "src/builtins/pipeline.rs",
        r"                ctx.fs.append_file(&path, input.as_bytes()).await?;
            } else {
                ctx.fs.write_file(&path, input.as_bytes()).await?;
            }
        }

        Ok(ExecResult::ok(input.to_string()))",
        r"                ctx.fs.append_file(&path, input).await?;
            } else {
                ctx.fs.write_file(&path, input).await?;
            }
        }

        Ok(ExecResult::ok_bytes(input.to_vec()))",
    ),
    once(
        "src/builtins/split.rs",
        ".write_file(&out_path, chunk_with_newline.as_bytes())",
        ".write_file(&out_path, &crate::stream::encode(&chunk_with_newline))",
    ),
    once(
        "src/builtins/yes.rs",
        r#"        let output = build_yes_output(&text);
        if let Some(stream) = ctx.stdout_stream() {
            // Pipeline producer: hand the reader one chunk at a time, so
            // `yes | head -1` stops after the first chunk with SIGPIPE.
            let lines = output.lines().count();
            for chunk in output.as_bytes().chunks(STREAM_CHUNK_BYTES) {
                ctx.consume_budget_work(1)?;
                if !stream.write(chunk).await? {
                    return Ok(ExecResult::with_code("", 141));
                }
            }
            return Ok(super::limits::cap_exceeded(
                "yes",
                String::new(),
                "output",
                format!("{lines} lines"),
            ));
        }"#,
        r#"        if let Some(stream) = ctx.stdout_stream() {
            // Pipeline producer: hand the reader one chunk at a time, so
            // `yes | head -1` stops after the first chunk with SIGPIPE.
            let line = format!("{text}\n");
            let chunk = line.repeat((STREAM_CHUNK_BYTES / line.len()).max(1));
            loop {
                ctx.consume_budget_work(1)?;
                if !stream.write(chunk.as_bytes()).await? {
                    return Ok(ExecResult::with_code("", 141));
                }
            }
        }
        let output = build_yes_output(&text);"#,
    ),
    // What the standard library hashes with is drawn once, while the image is built.
    once(
        "src/builtins/fileops.rs",
        r#"    use std::collections::hash_map::RandomState;
    use std::hash::{BuildHasher, Hasher};

    const CHARS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let state = RandomState::new();
    (0..len)
        .map(|i| {
            let mut hasher = state.build_hasher();
            hasher.write_usize(attempt);
            hasher.write_usize(i);
            CHARS[(hasher.finish() % CHARS.len() as u64) as usize] as char
        })
        .collect()
"#,
        r#"    const CHARS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut bytes = vec![0_u8; len];
    if getrandom::fill(&mut bytes).is_err() {
        bytes.fill((attempt % CHARS.len()) as u8);
    }
    bytes.iter().map(|byte| CHARS[usize::from(*byte) % CHARS.len()] as char).collect()
"#,
    ),
    once(
        "src/builtins/sortuniq.rs",
        "    random: std::collections::hash_map::RandomState,\n",
        "    random: RandomKey,\n",
    ),
    once(
        "src/builtins/sortuniq.rs",
        "            random: std::collections::hash_map::RandomState::new(),\n",
        "            random: RandomKey::new(),\n",
    ),
    once(
        "src/builtins/sortuniq.rs",
        "use async_trait::async_trait;\n",
        r"use async_trait::async_trait;

/// What `sort -R` hashes with: a key of its own.
struct RandomKey([u8; 16]);

impl RandomKey {
    fn new() -> Self {
        let mut key = [0; 16];
        let _ = getrandom::fill(&mut key);
        Self(key)
    }
}

impl std::hash::BuildHasher for RandomKey {
    type Hasher = std::hash::DefaultHasher;

    fn build_hasher(&self) -> Self::Hasher {
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hasher::write(&mut hasher, &self.0);
        hasher
    }
}
",
    ),
];
