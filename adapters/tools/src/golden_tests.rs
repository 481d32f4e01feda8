//! How every tool is listed, and what it says to arguments that do not fit, as files below `golden`. `BLESS=1` writes them anew.

use std::path::Path;

use dormouse_core::Policy;
use serde_json::json;

use super::kept::Desk;
use super::*;
use crate::Annotations;

/// One more byte than any text may have that is not a whole file.
const LONG: usize = (64 << 10) + 1;

fn golden(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden").join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    for (line, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "{file}, line {}", line + 1);
    }
    assert_eq!(found.lines().count(), wanted.lines().count(), "lines of {file}");
}

fn listed(surface: &Surface) -> String {
    let shown = surface.list().into_iter().map(|spec| {
        let Annotations { read_only, destructive, idempotent, open_world } = spec.annotations;
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input": spec.input_schema,
            "output": spec.output_schema,
            "answered": spec.answered,
            "annotations": [read_only, destructive, idempotent, open_world],
        })
    });
    format!("{:#}\n", shown.collect::<Json>())
}

/// What each field says to values that are hardly ever right, and the tool to a field that it has not: a line for each.
fn refusals(desk: &Desk) -> String {
    let mut lines = String::new();
    for spec in desk.surface.list() {
        let mut note = |case: &str, arguments: Json| {
            let error = desk.call(spec.name, arguments).structured["error"].take();
            // What other errors and answers say depends on more than the arguments.
            if matches!(error["code"].as_str(), Some("args_invalid" | "too_large")) {
                lines.push_str(&format!("{} {case}: {error}\n", spec.name));
            }
        };
        note("(nothing)", json!({}));
        note("(a stray field)", json!({"nowhere_to_be_found": 1}));
        let fields = spec.input_schema["properties"].as_object().cloned().unwrap_or_default();
        let required = spec.input_schema["required"].as_array().cloned().unwrap_or_default();
        for name in fields.keys() {
            for value in [Json::Null, json!([1]), json!(-1), json!(0.5), json!(""), "x".repeat(LONG).into()] {
                let case = if value.as_str().is_some_and(|text| text.len() == LONG) {
                    format!("{name} of {LONG} bytes")
                } else {
                    format!("{name} {value}")
                };
                // What is needed besides is there, so that this field is what is judged.
                let needed =
                    required.iter().filter_map(Json::as_str).map(|name| (name.to_owned(), "/x".into()));
                let mut arguments: Map<String, Json> = needed.collect();
                arguments.insert(name.clone(), value);
                note(&case, arguments.into());
            }
        }
    }
    lines
}

#[test]
fn tools_are_listed_as_they_were() {
    let runtime = Runtime::new(Policy::default(), Arc::new(dormouse_core::testing::FakeProvider::default()));
    golden("fresh.json", &listed(&Surface::new(runtime)));
    for (name, profile) in Profile::ALL {
        golden(&format!("{name}.json"), &listed(&Desk::new(profile).surface));
    }
}

#[test]
fn what_does_not_fit_is_refused_as_it_was() {
    for (name, profile) in Profile::ALL {
        golden(&format!("{name}-refusals.txt"), &refusals(&Desk::new(profile)));
    }
}
