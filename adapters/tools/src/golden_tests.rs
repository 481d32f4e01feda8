//! How every tool is listed, and what it says to arguments that do not fit, as files below `golden`. `BLESS=1` writes them anew.

use std::path::Path;

use dormouse_core::Policy;
use serde_json::json;

use super::kept::Desk;
use super::*;

/// One more byte than any text may have that is not a whole file.
const LONG: usize = (64 << 10) + 1;

fn golden(name: &str, found: &Json) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/golden/{name}.json"));
    let found = format!("{}\n", serde_json::to_string_pretty(found).unwrap());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    for (line, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "{name}.json, line {}", line + 1);
    }
    assert_eq!(found.len(), wanted.len(), "{name}.json");
}

fn listed(surface: &Surface) -> Json {
    let shown = surface.list().into_iter().map(|spec| {
        let Annotations { read_only, destructive, idempotent, open_world } = spec.annotations;
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input": spec.input_schema,
            "output": spec.output_schema,
            "annotations": [read_only, destructive, idempotent, open_world],
        })
    });
    shown.collect()
}

/// What each field says to values that are hardly ever right, and the tool to a field that it has not.
fn refusals(desk: &Desk) -> Json {
    let mut all = Map::new();
    for spec in desk.surface.list() {
        let mut told = Map::new();
        let mut note = |case: String, arguments: Json| {
            let reply = desk.call(spec.name, arguments);
            // What is done has ids and times of its own.
            let shown =
                if reply.is_error { json!([reply.structured["error"], reply.text]) } else { "done".into() };
            told.insert(case, shown);
        };
        note("nothing".into(), json!({}));
        note("a stray field".into(), json!({"nowhere_to_be_found": 1}));
        let fields = spec.input_schema["properties"].as_object().cloned().unwrap_or_default();
        let required: Vec<String> =
            serde_json::from_value(spec.input_schema["required"].clone()).unwrap_or_default();
        for name in fields.keys() {
            for (case, value) in [
                ("null", Json::Null),
                ("list", json!([1])),
                ("number", json!(-1)),
                ("fraction", json!(0.5)),
                ("empty", json!("")),
                ("long", "x".repeat(LONG).into()),
            ] {
                // What is needed besides is there, so that this field is what is judged.
                let mut arguments: Map<String, Json> =
                    required.iter().map(|name| (name.clone(), "/x".into())).collect();
                arguments.insert(name.clone(), value);
                let reply = desk.call(spec.name, arguments.into());
                let error = &reply.structured["error"];
                if matches!(error["code"].as_str(), Some("args_invalid" | "too_large")) {
                    told.insert(
                        format!("{name}: {case}"),
                        json!([error["code"], error["message"], error["hint"]]),
                    );
                }
            }
        }
        all.insert(spec.name.into(), told.into());
    }
    all.into()
}

#[test]
fn tools_are_listed_as_they_were() {
    let manager = Manager::new(Policy::default(), Arc::new(dormouse_core::testing::FakeProvider::default()));
    golden("fresh", &listed(&Surface::new(manager)));
    for (name, profile) in Profile::ALL {
        golden(name, &listed(&Desk::new(profile).surface));
    }
}

#[test]
fn what_does_not_fit_is_refused_as_it_was() {
    for (name, profile) in Profile::ALL {
        golden(&format!("{name}-refusals"), &refusals(&Desk::new(profile)));
    }
}
