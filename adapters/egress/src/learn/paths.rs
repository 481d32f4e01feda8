//! Paths that were seen become paths of rules.

use std::collections::BTreeMap;

use crate::path::has_one_reading;

/// Longest path that the audit writes down as a whole, in characters.
const WHOLE: usize = 2_048;
/// Values that one segment may have before it becomes `*`; fewer where there would be more paths than [`MAX_PATTERNS`].
const VALUES: [usize; 4] = [8, 4, 2, 1];
/// Paths of one rule.
const MAX_PATTERNS: usize = 100;
/// Segments of a path that is looked at.
const MAX_SEGMENTS: usize = 256;
/// Letters from which on a text of hexadecimal digits looks like an id.
const HEX: usize = 8;

/// A path that was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Path {
    /// By its segments; those that look like ids are `*` already.
    Segments(Vec<String>),
    /// One that no rule can name: it has two readings, was written down in part, or is one of too many.
    Any,
}

impl Path {
    /// As it stands in the audit.
    pub(super) fn of(text: &str) -> Self {
        let text = if text.is_empty() { "/" } else { text };
        if !has_one_reading(text) || text.len() >= WHOLE || text.split('/').count() > MAX_SEGMENTS {
            return Self::Any;
        }
        // What was washed of a secret has stars.
        let shown =
            |segment: &str| if is_id(segment) || segment.contains('*') { "*" } else { segment }.to_owned();
        Self::Segments(text.split('/').skip(1).map(shown).collect())
    }
}

/// Whether a segment looks like the id of something: a number, a UUID, hexadecimal digits.
fn is_id(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let is_number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let is_uuid = bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    let is_hex =
        bytes.len() >= HEX && bytes.iter().all(u8::is_ascii_hexdigit) && bytes.iter().any(u8::is_ascii_digit);
    is_number || is_uuid || is_hex
}

/// Paths of rules that fit all of these, as few as are easy to read. None: only one that names no path does.
pub(super) fn patterns<'a>(seen: impl Iterator<Item = &'a Path>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for path in seen {
        match path {
            Path::Any => return None,
            Path::Segments(segments) => all.push(segments.iter().map(String::as_str).collect()),
        }
    }
    let few = VALUES.iter().map(|values| merged(&all, *values)).find(|all| all.len() <= MAX_PATTERNS);
    let Some(mut few) = few else { return Some(vec!["/**".into()]) };
    let covered: Vec<bool> =
        few.iter().map(|one| few.iter().any(|other| other != one && covers(other, one))).collect();
    let mut is_covered = covered.iter();
    few.retain(|_| is_covered.next() == Some(&false));
    Some(few.iter().map(|segments| format!("/{}", segments.join("/"))).collect())
}

/// The same with `*` where a segment has more than so many values.
fn merged<'a>(paths: &[Vec<&'a str>], values: usize) -> Vec<Vec<&'a str>> {
    let mut groups: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    let mut has_end = false;
    for path in paths {
        match path.split_first() {
            None => has_end = true,
            Some((first, rest)) => groups.entry(first).or_default().push(rest.to_vec()),
        }
    }
    // The end of a path that ends with `/` is no value.
    let is_value = |segment: &str| !matches!(segment, "" | "*");
    if groups.keys().filter(|segment| is_value(segment)).count() > values {
        let (end, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(segment, _)| segment.is_empty());
        groups = end.into_iter().collect();
        groups.insert("*", rest.into_iter().flat_map(|(_, rest)| rest).collect());
    }
    let mut all: Vec<Vec<&str>> = if has_end { vec![Vec::new()] } else { Vec::new() };
    for (segment, rest) in groups {
        for mut tail in merged(&rest, values) {
            tail.insert(0, segment);
            all.push(tail);
        }
    }
    all
}

/// Whether a pattern fits all that another does.
fn covers(one: &[&str], other: &[&str]) -> bool {
    let fits = |(one, other): (&&str, &&str)| one == other || *one == "*" && !other.is_empty();
    one.len() == other.len() && one.iter().zip(other).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(all: &[&str]) -> Option<Vec<String>> {
        let paths: Vec<Path> = all.iter().map(|path| Path::of(path)).collect();
        patterns(paths.iter())
    }

    #[test]
    fn what_looks_like_an_id_becomes_a_star_and_nothing_else_does() {
        for id in ["0", "42", "20240101", "c0ffee00", "DEADBEEF1", "0f8fad5b-d9cd-469f-a165-70867728950e"] {
            assert_eq!(made(&[&format!("/v1/{id}/x")]).unwrap(), ["/v1/*/x"], "{id}");
        }
        for word in
            ["v1", "2024-01-01", "deadbeef", "c0ffee", "a1b2c3d", "1.0", "items", "0f8fad5b-d9cd", "x42"]
        {
            let path = format!("/v1/{word}/x");
            assert_eq!(made(&[&path]).unwrap(), [path.as_str()], "{word}");
        }
        assert_eq!(made(&["", "/", "/a/"]).unwrap(), ["/", "/a/"]);
        assert_eq!(made(&["/keys/****/x"]).unwrap(), ["/keys/*/x"]);
    }

    #[test]
    fn many_values_in_one_place_become_a_star() {
        let many = |count: usize| (0..count).map(|at| format!("/pkg/name{at}/json")).collect::<Vec<_>>();
        let of = |all: &[String]| made(&all.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(of(&many(8)).len(), 8);
        assert_eq!(of(&many(9)), ["/pkg/*/json"]);
        // What comes after them is put together too, and what lies elsewhere stays.
        let mut all = many(9);
        all.extend(["/pkg/name3/other", "/pkg", "/pkg/", "/simple/a"].map(str::to_owned));
        assert_eq!(of(&all), ["/pkg", "/pkg/", "/pkg/*/json", "/pkg/*/other", "/simple/a"]);
        // What a star fits already is not named again.
        assert_eq!(made(&["/items/1", "/items/new", "/items/new/x"]).unwrap(), ["/items/*", "/items/new/x"]);
    }

    #[test]
    fn what_no_rule_can_name_leaves_the_path_open() {
        for bad in ["/a//b", "/a/../b", "/a;b", "/a%2fb", &format!("/{}", "a".repeat(WHOLE - 1))] {
            assert_eq!(made(&["/fine", bad]), None, "{bad}");
        }
        assert!(made(&[&format!("/{}", "a".repeat(WHOLE - 2))]).is_some());
    }

    #[test]
    fn there_are_never_more_than_are_easy_to_read() {
        // Eight values in each of three places are 512 paths.
        let all: Vec<String> =
            (0..512).map(|at| format!("/a{}/b{}/c{}", at % 8, at / 8 % 8, at / 64)).collect();
        let of = |all: &[String]| made(&all.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(of(&all), ["/*/*/*"]);
        let deep: Vec<String> = (1..150).map(|depth| "/a".repeat(depth)).collect();
        assert_eq!(of(&deep), ["/**"]);
        let deep = "/a".repeat(MAX_SEGMENTS - 1);
        assert_eq!(made(&[&deep]).unwrap(), [deep.as_str()]);
        assert_eq!(made(&[&format!("{deep}/a")]), None);
    }
}
