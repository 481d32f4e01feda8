//! The worked example: its files are read and checked as they stand.

use std::path::Path;
use std::sync::Arc;

use dormouse_scenario::Plan;
use dormouse_sources::Registry;

#[test]
fn the_files_of_the_worked_example_are_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/examples/scenario");
    for (file, source) in [("codegen.yaml", "wasm"), ("codegen-docker.yaml", "docker")] {
        let plan = Plan::load(&[folder.join(file)]).unwrap();
        let entry = &plan.entries[0];
        assert_eq!((entry.source.as_deref(), plan.skills[0].0.as_str()), (Some(source), "codegen"));
        assert_eq!(plan.scenarios[0].gates.len(), 3);
        let mut registry = Registry::default();
        registry.register(source, Arc::new(Anything));
        plan.check(&registry).unwrap();
    }
}

#[test]
fn the_arena_of_the_document_can_be_read() {
    let document = include_str!("../../../../docs/scenarios.md");
    let block = document.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let stage = super::Stage::new();
    stage.file("skills/codegen/SKILL.md", "---\nname: codegen\n---\n");
    let turns = "kind: Scenario\nspec: {id: fix-the-bug, turns: [{tool_calls: [{tool: Bash}]}]}\n";
    stage.file("scenarios/fix-the-bug.scenario.yaml", turns);
    let plan = stage.plan(block).unwrap();
    assert_eq!((plan.name.as_str(), plan.scenarios.len()), ("codegen", 2));
    assert_eq!(plan.scenarios[1].repetitions, 3);
}

/// A source that takes any arguments.
struct Anything;

#[async_trait::async_trait]
impl dormouse_sources::Source for Anything {
    fn check(&self, _: &serde_json::Map<String, serde_json::Value>) -> dormouse_core::Result<()> {
        Ok(())
    }

    async fn open(
        &self,
        _: serde_json::Map<String, serde_json::Value>,
    ) -> dormouse_core::Result<dormouse_sources::Opened> {
        Err(dormouse_core::Error::args_invalid("this one opens nothing"))
    }
}
