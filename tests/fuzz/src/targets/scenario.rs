//! Arenas and scenarios in YAML: what is taken is within the bounds that the documents name.
//!
//! Lines of `=====` stand between the files.

use dormouse_core::ErrorCode;
use dormouse_scenario::fuzz;
use dormouse_sources::{Registry, template};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    words: &[
        "\n=====\n",
        "apiVersion: dormouse/v1\n",
        "kind: Arena\n",
        "kind: Scenario\n",
        "metadata: {name: a}\n",
        "spec:\n",
        "  mcp_servers:\n",
        "  scenarios:\n",
        "    - spec:\n",
        "turns:\n",
        "tool_calls:\n",
        "conversation_assertions:\n",
        "variables:\n",
        "repetitions: ",
        "allowed_tools: []\n",
        "{{scenario.a}}",
        "{{",
        "&a ",
        "*a",
        "<<: *a",
        "!!str ",
        "!!binary ",
        "[[[[[[[[",
        "{{{{{{{{",
        "- ",
        "? ",
        ": ",
        "|\n",
        ">-\n",
        "---\n",
        "...\n",
        "\"\\x00\"",
        "~",
        ".inf",
        "0x",
        "\t",
    ],
    ..Target::new("scenario", "arenas and scenarios in YAML (adapters/scenario)", run)
};

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let texts: Vec<&str> = text.split("\n=====\n").take(8).collect();
    let plan = match fuzz::plan(&texts) {
        Ok(plan) => plan,
        Err(error) => {
            let known = [ErrorCode::ArgsInvalid, ErrorCode::TooLarge, ErrorCode::TemplateMissingKey];
            assert!(known.contains(&error.code()), "{error}");
            return assert!(error.message().len() <= 4_096 && !error.message().contains('\n'), "{error}");
        }
    };
    assert!(plan.entries.len() <= 64 && (1..=1_000).contains(&plan.scenarios.len()));
    let _checked = plan.check(&Registry::default());
    for scenario in &plan.scenarios {
        assert!((1..=1_000).contains(&scenario.repetitions), "{}", scenario.repetitions);
        assert!((1..=128).contains(&scenario.id.chars().count()));
        let variables = scenario.template_variables();
        for entry in &plan.entries {
            let _filled = template::fill(&entry.source_args, &variables);
        }
        for call in scenario.turns.iter().flat_map(|turn| turn.value.tool_calls.iter().flatten()) {
            let _filled = fuzz::fill(&call.value.arguments, &scenario.variables);
        }
    }
}
