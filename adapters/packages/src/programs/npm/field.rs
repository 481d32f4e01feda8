//! Fields of JSON as npm names them: `dist-tags.latest`, `files[0]`, `scripts[test:unit]`.

use dormouse_core::Result;
use serde_json::{Map, Value as Json};

use crate::programs::usage;

/// Most steps of one name.
const MAX_STEPS: usize = 32;

/// A name, step by step. An empty step, `files[]`, is the end of a list.
pub(super) fn steps(name: &str) -> Result<Vec<&str>> {
    let bad = || usage(format!("`{}` is not a field: write `NAME.NAME` or `NAME[0]`", name.escape_debug()));
    let (mut steps, mut rest) = (Vec::new(), name);
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        // After a bracket there may be none.
        if end > 0 {
            steps.push(&rest[..end]);
        } else if steps.is_empty() || !rest.starts_with('[') {
            return Err(bad());
        }
        rest = &rest[end..];
        while let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = inner.split_once(']').ok_or_else(bad)?;
            steps.push(step);
            rest = after;
        }
        if steps.len() > MAX_STEPS {
            return Err(bad());
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Ok(steps),
            None => return Err(bad()),
        }
    }
}

/// What stands there.
pub(super) fn get<'a>(whole: &'a Json, steps: &[&str]) -> Option<&'a Json> {
    steps.iter().try_fold(whole, |at, step| match at {
        Json::Object(fields) => fields.get(*step),
        Json::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Sets it; what leads there is made. A list grows by one item at a time.
pub(super) fn set(at: &mut Json, steps: &[&str], value: Json) -> Result<()> {
    let Some((first, rest)) = steps.split_first() else {
        *at = value;
        return Ok(());
    };
    let is_index = first.is_empty() || first.bytes().all(|byte| byte.is_ascii_digit());
    if at.is_null() {
        *at = if is_index { Json::Array(Vec::new()) } else { Json::Object(Map::new()) };
    }
    let refuse = || usage(format!("`{}` cannot be set there", first.escape_debug()));
    let next = match at {
        Json::Object(fields) if !first.is_empty() => fields.entry(*first).or_insert(Json::Null),
        Json::Array(items) if is_index => {
            let index = if first.is_empty() { items.len() } else { first.parse().map_err(|_| refuse())? };
            if index == items.len() {
                items.push(Json::Null);
            }
            items.get_mut(index).ok_or_else(refuse)?
        }
        _ => return Err(refuse()),
    };
    set(next, rest, value)
}

/// Removes it, if it is there.
pub(super) fn remove(at: &mut Json, steps: &[&str]) {
    match (at, steps) {
        (Json::Object(fields), [last]) => drop(fields.shift_remove(*last)),
        (Json::Array(items), [last]) => {
            if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        (Json::Object(fields), [first, rest @ ..]) => {
            if let Some(next) = fields.get_mut(*first) {
                remove(next, rest);
            }
        }
        (Json::Array(items), [first, rest @ ..]) => {
            if let Some(next) = first.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                remove(next, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_read_step_by_step() {
        for (name, wanted) in [
            ("version", &["version"][..]),
            ("dist-tags.latest", &["dist-tags", "latest"]),
            ("a[0].b", &["a", "0", "b"]),
            ("scripts[test:unit.x]", &["scripts", "test:unit.x"]),
            ("files[]", &["files", ""]),
            ("a[0][1]", &["a", "0", "1"]),
        ] {
            assert_eq!(steps(name).unwrap(), wanted, "{name}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a[", "a[0", "[0]", "a[0]b", &"a.".repeat(40)] {
            assert!(steps(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_leads_to_a_field_is_made_and_lists_grow_by_one() {
        let mut whole = json!({"a": 1});
        let mut put = |name: &str, value: Json| set(&mut whole, &steps(name).unwrap(), value);
        put("b.c", json!(2)).unwrap();
        put("l[]", json!("x")).unwrap();
        put("l[1]", json!("y")).unwrap();
        put("l[0]", json!("z")).unwrap();
        assert!(put("l[9]", json!(1)).is_err() && put("a.b", json!(1)).is_err());
        assert_eq!(whole, json!({"a": 1, "b": {"c": 2}, "l": ["z", "y"]}));
        assert_eq!(get(&whole, &["l", "1"]), Some(&json!("y")));
        for name in ["b.c", "l[0]", "none.at.all", "a.b"] {
            remove(&mut whole, &steps(name).unwrap());
        }
        assert_eq!(whole, json!({"a": 1, "b": {}, "l": ["y"]}));
    }
}
