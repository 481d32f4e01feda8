//! Options of a command line as the arguments of a call, of the types that the tool's schema says.

use dormouse_tools::by_likeness;
use serde_json::{Map, Value as Json};

use crate::stub::{Field, Shape};

/// What a command line gives.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Given {
    pub(super) arguments: Map<String, Json>,
    /// Whether a text is printed as it is.
    pub(super) raw: bool,
}

impl Given {
    /// Reads the words after the tool's name.
    ///
    /// # Errors
    /// What cannot be understood.
    pub(super) fn read(words: &[&str], input: &[u8], fields: &[Field]) -> Result<Self, String> {
        let (mut given, mut options) = (Self::default(), Map::new());
        let mut words = words.iter().copied().peekable();
        while let Some(word) = words.next() {
            if word == "-r" {
                given.raw = true;
                continue;
            }
            let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) else {
                return Err(format!("`{}` is no option", shown(word)));
            };
            let (name, attached) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option, None),
            };
            if name == "json" {
                let text = attached.or_else(|| words.next()).ok_or("`--json` takes an object")?;
                let value = serde_json::from_str(&text_of(text, input)?);
                let Ok(Json::Object(map)) = value else {
                    return Err("the value of `--json` is no JSON object".into());
                };
                given.arguments = map;
                continue;
            }
            let field = found(name, fields)?;
            let is_flag = field.shape == Shape::Boolean;
            let text = match attached {
                Some(text) => text.to_owned(),
                None if is_flag => {
                    words.next_if(|word| matches!(*word, "true" | "false")).unwrap_or("true").to_owned()
                }
                None => text_of(words.next().ok_or_else(|| format!("`--{name}` takes a value"))?, input)?,
            };
            add(&mut options, field, &text)?;
        }
        given.arguments.extend(options);
        Ok(given)
    }
}

/// The argument of that name; `-` stands for `_` where that is no other's name.
fn found<'a>(name: &str, fields: &'a [Field]) -> Result<&'a Field, String> {
    let same = |c: char| if c == '-' { '_' } else { c };
    let exact = fields.iter().find(|field| field.name == name);
    let like = || fields.iter().find(|field| field.name.chars().map(same).eq(name.chars().map(same)));
    exact.or_else(like).ok_or_else(|| {
        let names = by_likeness(name, fields.iter().map(|field| field.name.as_str()));
        let names: Vec<String> = names.iter().take(8).map(|name| format!("`--{}`", shown(name))).collect();
        match names.is_empty() {
            true => format!("there is no option `--{}`: the tool takes nothing", shown(name)),
            false => format!("there is no option `--{}`; there are {}", shown(name), names.join(", ")),
        }
    })
}

fn add(options: &mut Map<String, Json>, field: &Field, text: &str) -> Result<(), String> {
    let wrong = |kind: &str| format!("`--{}` takes {kind}, not `{}`", shown(&field.name), shown(text));
    let items = match &field.shape {
        Shape::List(items) => Some(items.as_ref()),
        Shape::Union(members) => members.iter().find_map(|member| match member {
            Shape::List(items) => Some(items.as_ref()),
            _ => None,
        }),
        _ => None,
    };
    let Some(items) = items else {
        options
            .insert(field.name.clone(), value(&field.shape, text).ok_or_else(|| wrong(kind(&field.shape)))?);
        return Ok(());
    };
    let list = options.entry(field.name.clone()).or_insert_with(|| Json::Array(Vec::new()));
    let Json::Array(list) = list else { return Err(wrong("a list")) };
    match serde_json::from_str::<Vec<Json>>(text) {
        Ok(whole) => list.extend(whole),
        Err(_) => list.push(value(items, text).ok_or_else(|| wrong(kind(items)))?),
    }
    Ok(())
}

/// A text as a value of that shape. None: it is none.
fn value(shape: &Shape, text: &str) -> Option<Json> {
    let json = || serde_json::from_str::<Json>(text).ok();
    match shape {
        Shape::Text => Some(text.into()),
        Shape::Boolean => json().filter(Json::is_boolean),
        Shape::Null => json().filter(Json::is_null),
        Shape::Integer => json().filter(|value| value.is_i64() || value.is_u64()),
        Shape::Number => json().filter(Json::is_number),
        Shape::List(_) => json().filter(Json::is_array),
        Shape::Map(_) | Shape::Object(_) => json().filter(Json::is_object),
        Shape::Any => Some(json().unwrap_or_else(|| text.into())),
        Shape::Literals(all) => {
            let shown = |one: &Json| one.as_str().map_or_else(|| one.to_string(), str::to_owned);
            all.iter().find(|one| shown(one) == text).cloned()
        }
        Shape::Union(members) => {
            // A text can be anything: it comes last.
            let mut others = members.iter().filter(|member| **member != Shape::Text);
            let other = others.find_map(|member| value(member, text));
            other.or_else(|| members.contains(&Shape::Text).then(|| text.into()))
        }
    }
}

fn kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Boolean => "`true` or `false`",
        Shape::Integer => "a whole number",
        Shape::Number => "a number",
        Shape::Literals(_) => "one of its words",
        Shape::List(_) => "a list",
        Shape::Map(_) | Shape::Object(_) => "a JSON object",
        Shape::Any | Shape::Null | Shape::Text | Shape::Union(_) => "a value",
    }
}

/// A value as it is given: `-` is the standard input, without a line end at its end.
fn text_of(word: &str, input: &[u8]) -> Result<String, String> {
    if word != "-" {
        return Ok(word.to_owned());
    }
    let text = std::str::from_utf8(input).map_err(|_| "the standard input is no text".to_owned())?;
    Ok(text.strip_suffix('\n').unwrap_or(text).to_owned())
}

fn shown(text: &str) -> String {
    text.escape_debug().take(64).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stub::fields;

    fn read(words: &[&str]) -> Result<Json, String> {
        let schema = json!({"type": "object", "required": ["repo"], "properties": {
            "repo": {"type": "string"}, "page_size": {"type": "integer"}, "ratio": {"type": "number"}, "draft": {"type": "boolean"},
            "state": {"enum": ["open", "closed", 3]}, "labels": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "array", "items": {"type": "integer"}}, "filter": {"type": "object"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "any": {},
        }});
        let given = Given::read(words, b"from input\n", &fields(&schema))?;
        Ok(json!({"arguments": given.arguments, "raw": given.raw}))
    }

    #[test]
    fn options_become_arguments_of_the_schemas_types() {
        let words = [
            "-r",
            "--repo",
            "-",
            "--page-size",
            "7",
            "--ratio=1.5",
            "--draft",
            "--state",
            "open",
            "--labels",
            "a b",
            "--labels",
            "c",
            "--ids",
            "[1,2]",
            "--ids",
            "3",
            "--filter",
            "{\"x\":1}",
            "--either",
            "9",
            "--any",
            "text",
        ];
        assert_eq!(
            read(&words).unwrap(),
            json!({"raw": true, "arguments": {
                "repo": "from input", "page_size": 7, "ratio": 1.5, "draft": true, "state": "open", "labels": ["a b", "c"],
                "ids": [1, 2, 3], "filter": {"x": 1}, "either": 9, "any": "text",
            }})
        );
        let more = read(&[
            "--json",
            r#"{"repo": "x", "draft": true}"#,
            "--draft",
            "false",
            "--either=null",
            "--state",
            "3",
        ])
        .unwrap();
        assert_eq!(more["arguments"], json!({"repo": "x", "draft": false, "either": null, "state": 3}));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (words, wanted) in [
            (&["repo"][..], "`repo` is no option"),
            (&["--reop", "x"], "there are `--repo`"),
            (&["--repo"], "takes a value"),
            (&["--page-size", "many"], "takes a whole number"),
            (&["--ids", "x"], "takes a whole number"),
            (&["--state", "half"], "one of its words"),
            (&["--filter", "x"], "a JSON object"),
            (&["--json", "[1]"], "no JSON object"),
            (&["--draft=maybe"], "`true` or `false`"),
            (&["--"], "no option"),
        ] {
            let told = read(words).unwrap_err();
            assert!(told.contains(wanted), "{told} / {wanted}");
        }
    }
}
