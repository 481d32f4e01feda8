//! The profile `eval`: its own fields, its own hints, and what it says without a project.

use dormouse_core::Project;

use super::*;

fn of_profile(project: Option<Project>) -> (Surface, Arc<Fake>) {
    let (surface, fake) = surface(Policy::default(), &[]);
    let grants = Grants { project, ..Grants::default() };
    (surface.with_profile(Profile::Eval).with_grants(&grants), fake)
}

#[test]
fn hints_name_fields_that_the_tool_has() {
    let (surface, fake) = of_profile(None);
    let properties = surface.get("framework__eval").unwrap().input_schema["properties"].clone();
    for (arguments, code) in [
        (json!({"snippet": "1", "allow_network": true}), "network_denied"),
        (json!({"snippet": "1", "allow_writes": true}), "write_denied"),
    ] {
        let reply = call(&surface, "framework__eval", arguments).unwrap();
        assert_eq!(reply.structured["error"]["code"], code);
        let hint = reply.structured["error"]["hint"].as_str().unwrap();
        let fields: Vec<&str> =
            hint.split('`').skip(1).step_by(2).filter(|word| !word.starts_with('/')).collect();
        assert!(!fields.is_empty(), "{hint}");
        assert!(fields.iter().all(|field| properties.get(field).is_some()), "{hint}");
        assert!(reply.text.ends_with(hint), "{}", reply.text);
    }
    assert!(fake.0.lock().unwrap().is_empty());
}

#[test]
fn s1_15_more_of_a_result_can_be_asked_for() {
    let (surface, fake) = of_profile(None);
    for (arguments, offset) in
        [(json!({"snippet": "1"}), 0), (json!({"snippet": "1", "preview_offset": 50}), 50)]
    {
        let reply = call(&surface, "framework__eval", arguments).unwrap();
        assert!(!reply.is_error, "{}", reply.text);
        assert_eq!(fake.0.lock().unwrap().pop().unwrap().context.bounds.offset, offset);
    }
    let refused = call(&surface, "framework__eval", json!({"snippet": "1", "preview_offset": -1})).unwrap();
    assert_eq!(refused.structured["error"]["code"], "args_invalid");
}

#[test]
fn a_container_is_promised_only_where_there_is_a_project() {
    let (alone, _) = of_profile(None);
    let (placed, _) = of_profile(Some(Project::new("/somewhere")));
    assert!(alone.instructions().contains("there is no `container()`"), "{}", alone.instructions());
    assert!(
        placed.instructions().contains("`container()` returns its services"),
        "{}",
        placed.instructions()
    );
    let snippet = |surface: &Surface| {
        let schema = &surface.get("framework__eval").unwrap().input_schema;
        schema["properties"]["snippet"]["description"].as_str().unwrap().to_owned()
    };
    assert!(snippet(&alone).contains("no `container()`"));
    assert!(snippet(&placed).contains("resolves a service of the project"));
}
