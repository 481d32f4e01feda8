//! Says in one line where an output is not the wanted one.

use super::pattern::Wanted;

/// The first lines that differ, for people.
pub(super) fn difference(wanted: &Wanted, output: &[u8]) -> String {
    if let Wanted::Regex(_) = wanted {
        return format!("the pattern does not fit: {}", shown(output));
    }
    let mut lines = output.split(|byte| *byte == b'\n');
    for line in wanted.text().split(|byte| *byte == b'\n') {
        let got = lines.next();
        let fits = got.is_some_and(|got| match wanted {
            Wanted::Text(_) => got == line,
            _ => Wanted::Format(line.to_vec()).matches(got) == Some(true),
        });
        if !fits {
            // A message of PHP's begins with an empty line.
            let full = got.into_iter().chain(lines).find(|line| !line.is_empty());
            let got = full.or(got).map_or_else(|| "nothing".to_owned(), shown);
            return format!("wanted {}, got {got}", shown(line));
        }
    }
    lines
        .next()
        .map_or_else(|| "it differs".to_owned(), |more| format!("wanted nothing, got {}", shown(more)))
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text: String = text.chars().take(120).collect();
    format!("`{}`", text.escape_debug())
}
