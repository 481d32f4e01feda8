//! `npm view`: what the registry says of a package, in the words of npm.

use dormouse_core::packages::{Described, Detail};
use dormouse_core::sandbox::{Files, Owner};
use dormouse_core::{GuestPath, ProgramEnd, Result};
use serde_json::{Map, Value as Json};

use super::{PackagePrograms, field, listed, pretty, split};
use crate::programs::usage;

/// Longest line that a list or an object is shown on.
const LINE: usize = 72;

pub(super) async fn run(
    programs: &PackagePrograms,
    owner: &Owner,
    files: &mut dyn Files,
    folder: &GuestPath,
    words: &[&str],
) -> Result<ProgramEnd> {
    let (mut words, options) = split(words);
    let package = match words.is_empty() {
        true => own_name(files, folder).await?,
        false => words.remove(0),
    };
    let told = programs.packages.describe(owner, &package, Detail::Whole).await?;
    let whole = whole(&told);
    let mut found = Map::new();
    for name in &words {
        if let Some(value) = field::get(&whole, &field::steps(name)?) {
            found.insert(name.clone(), value.clone());
        }
    }
    Ok(ProgramEnd::said(match (words.len(), options.contains(&"--json")) {
        (0, false) => summary(&told),
        (0, true) => pretty(&whole)?,
        (1, as_json) => match found.into_iter().next() {
            None => String::new(),
            Some((_, value)) if as_json => pretty(&value)?,
            Some((_, Json::String(text))) => format!("{text}\n"),
            Some((_, value)) => format!("{}\n", shown(&value, 0)),
        },
        (_, true) => pretty(&Json::Object(found))?,
        (_, false) => found.iter().map(|(name, value)| format!("{name} = {}\n", shown(value, 0))).collect(),
    }))
}

/// The name in the folder's own `package.json`.
async fn own_name(files: &mut dyn Files, folder: &GuestPath) -> Result<String> {
    let own: Json = serde_json::from_str(&listed(files, folder).await?).unwrap_or_default();
    let name = own["name"].as_str().map(str::to_owned);
    name.ok_or_else(|| usage("npm view takes the name of a package, and package.json has none"))
}

/// The version that is meant, with what is said of all.
fn whole(told: &Described) -> Json {
    let mut whole = told.about.clone();
    if let Some(fields) = whole.as_object_mut() {
        fields.insert("versions".into(), told.versions.clone().into());
        let tags = told.tags.iter().map(|(tag, version)| (tag.clone(), version.as_str().into()));
        fields.insert("dist-tags".into(), Json::Object(tags.collect()));
    }
    whole
}

fn summary(told: &Described) -> String {
    let Described { about, versions, tags } = told;
    let text = |name: &str| about[name].as_str().unwrap_or_default();
    let needs = about["dependencies"].as_object().filter(|needs| !needs.is_empty());
    let license = about["license"].as_str().or_else(|| about["license"]["type"].as_str());
    let deps = needs.map_or_else(|| "none".to_owned(), |needs| needs.len().to_string());
    let mut said = format!(
        "\n{}@{} | {} | deps: {deps} | versions: {}\n",
        text("name"),
        text("version"),
        license.unwrap_or("Proprietary"),
        versions.len()
    );
    for line in [text("description"), text("homepage")].into_iter().filter(|line| !line.is_empty()) {
        said.push_str(&format!("{line}\n"));
    }
    if let Some(why) = about["deprecated"].as_str() {
        said.push_str(&format!("\nDEPRECATED!! - {why}\n"));
    }
    if let Some(needs) = needs {
        said.push_str("\ndependencies:\n");
        for (name, range) in needs {
            said.push_str(&format!("{name}: {}\n", range.as_str().unwrap_or_default()));
        }
    }
    said.push_str("\ndist-tags:\n");
    for (tag, version) in tags {
        said.push_str(&format!("{tag}: {version}\n"));
    }
    said
}

/// A value as JavaScript's consoles show it.
fn shown(value: &Json, indent: usize) -> String {
    let inner = indent + 2;
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) => {
            wrapped(["[", "]"], &items.iter().map(|item| shown(item, inner)).collect::<Vec<_>>(), indent)
        }
        Json::Object(fields) => {
            let field = |(name, value): (&String, &Json)| format!("{}: {}", key(name), shown(value, inner));
            wrapped(["{", "}"], &fields.iter().map(field).collect::<Vec<_>>(), indent)
        }
        other => other.to_string(),
    }
}

fn wrapped([open, close]: [&str; 2], parts: &[String], indent: usize) -> String {
    if parts.is_empty() {
        return format!("{open}{close}");
    }
    let line = format!("{open} {} {close}", parts.join(", "));
    if line.chars().count() <= LINE && !line.contains('\n') {
        return line;
    }
    let pad = " ".repeat(indent + 2);
    format!("{open}\n{pad}{}\n{}{close}", parts.join(&format!(",\n{pad}")), " ".repeat(indent))
}

fn key(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_$".contains(char);
    let plain = !name.starts_with(|first: char| first.is_ascii_digit()) && !name.is_empty();
    if plain && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
    if escaped.contains('\'') && !escaped.contains('"') {
        return format!("\"{escaped}\"");
    }
    format!("'{}'", escaped.replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_javascript_shows_them() {
        for (value, wanted) in [
            (json!("a"), "'a'"),
            (json!("it's"), "\"it's\""),
            (json!(["1.0.0", "2.0.0"]), "[ '1.0.0', '2.0.0' ]"),
            (json!({"ms": "^2", "left-pad": 1, "x": {}}), "{ ms: '^2', 'left-pad': 1, x: {} }"),
            (json!(null), "null"),
        ] {
            assert_eq!(shown(&value, 0), wanted);
        }
        let long = shown(&json!({"a": vec!["0123456789"; 8]}), 0);
        assert!(
            long.starts_with("{\n  a: [\n    '0123456789',\n    ") && long.ends_with("\n  ]\n}"),
            "{long}"
        );
    }
}
