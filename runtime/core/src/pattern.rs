//! Names with stars, as operators write them in lists of what is allowed.

/// Whether a text fits a pattern in which `*` stands for any characters. Linear in both but for the last star.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read, mut star) = (0, 0, None);
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (at, read) = (after + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, wanted) in [
            ("a*b*c", "abc", true),
            ("a*b*c", "axxbxbc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("x", "xy", false),
            ("x*", "x", true),
        ] {
            assert_eq!(fits(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
