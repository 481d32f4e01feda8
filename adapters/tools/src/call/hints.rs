//! The names of tools in texts for callers. A hint names a tool of the profile `sandbox`; whoever has routes, commands or another
//! profile's tools is told their name for the same work.

use super::Reply;
use crate::profile::Profile;

/// What the names of tools of the profile `sandbox` begin with.
const BEGINNINGS: [&str; 2] = ["sandbox_", "run_"];

/// Fields of an answer that are errors, where they are there.
pub const ERRORS: [&str; 5] = ["error", "warning", "unavailable", "cause", "unsaved"];

/// The text, each name of a tool of the profile `sandbox` in it as `name` has it. Default for one that it does not know: as it is.
/// What stands between backticks is meant to the letter, such as a tool's name as an option takes it.
pub fn reworded(text: &str, name: impl Fn(&str) -> Option<String>) -> String {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = BEGINNINGS.iter().filter_map(|beginning| rest.find(beginning)).min() {
        let (before, from) = rest.split_at(at);
        let (word, after) = from.split_at(from.find(|c| !is_name(c)).unwrap_or(from.len()));
        told.push_str(before);
        let begins = !told.ends_with(|c: char| c.is_alphanumeric() || "_.-/".contains(c))
            && told.matches('`').count().is_multiple_of(2);
        match name(word).filter(|_| begins) {
            Some(name) => told.push_str(&name),
            None => told.push_str(word),
        }
        rest = after;
    }
    told + rest
}

/// The same for an answer: the hint of its error, there and in its text, in the words of a profile. A tool that the operator has
/// not chosen is named with how to choose it.
pub(crate) fn of_here(mut reply: Reply, profile: Profile, left_out: &[&str]) -> Reply {
    let Some(hint) = reply.structured["error"]["hint"].as_str().filter(|hint| !hint.is_empty()) else {
        return reply;
    };
    let told = reworded(hint, |tool| match names(profile, tool) {
        Some(name) => Some(name.to_owned()),
        None if left_out.contains(&tool) => {
            Some(format!("{tool} (which the operator adds with `--tools all`)"))
        }
        None => None,
    });
    if told != hint {
        reply.text = reply.text.replacen(&format!("\nHint: {hint}"), &format!("\nHint: {told}"), 1);
        reply.structured["error"]["hint"] = told.into();
    }
    reply
}

fn names(profile: Profile, tool: &str) -> Option<&'static str> {
    Some(match (profile, tool) {
        (Profile::Rlm, "sandbox_eval") => "rlm_exec",
        (Profile::Rlm, "sandbox_vars") => "rlm_vars",
        (Profile::Rlm, "sandbox_get_var") => "rlm_get",
        (Profile::Rlm, "sandbox_load") => "rlm_load",
        (Profile::Rlm, "sandbox_reset") => "rlm_reset",
        (Profile::Codegen, "sandbox_read") => "Read",
        (Profile::Codegen, "sandbox_edit") => "Edit",
        (Profile::Codegen, "sandbox_exec") => "Bash",
        (Profile::Sprites, "sandbox_create") => "sprite_create",
        (Profile::Sprites, "sandbox_exec") => "sprite_exec",
        (Profile::Sprites, "sandbox_checkpoint") => "sprite_checkpoint",
        (Profile::Sprites, "sandbox_restore") => "sprite_restore",
        (Profile::Sprites, "sandbox_list") => "sprite_list",
        (Profile::Sprites, "sandbox_stop") => "sprite_shutdown",
        (Profile::Sprites, "sandbox_resume") => "sprite_wake",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_names_are_told_in_the_words_of_the_door_and_nothing_else_is() {
        let name = |tool: &str| (tool == "sandbox_vars").then(|| "`dormouse sandbox vars`".to_owned());
        let told = |text| reworded(text, name);
        assert_eq!(told("sandbox_vars names those"), "`dormouse sandbox vars` names those");
        assert_eq!(told("(sandbox_vars)"), "(`dormouse sandbox vars`)");
        for same in [
            "",
            "no name",
            "sandbox_",
            "sandbox_varsity",
            "my_sandbox_vars",
            "/x/sandbox_vars",
            "é sandbox_var",
            "did you mean `sandbox_vars`?",
            "names such as `sandbox_get,sandbox_vars`",
        ] {
            assert_eq!(told(same), same);
        }
    }

    #[test]
    fn a_profiles_hint_names_its_own_tools() {
        let reply = |hint: &str| Reply {
            structured: json!({"error": {"code": "not_found", "message": "m", "hint": hint}}),
            text: format!("Error: m\nHint: {hint}\nstdout: sandbox_vars"),
            is_error: true,
        };
        let told = of_here(reply("sandbox_vars names those that there are"), Profile::Rlm, &[]);
        assert_eq!(told.structured["error"]["hint"], "rlm_vars names those that there are");
        assert_eq!(told.text, "Error: m\nHint: rlm_vars names those that there are\nstdout: sandbox_vars");
        let same =
            of_here(reply("sandbox_vars names those that there are"), Profile::Sandbox, &["sandbox_get"]);
        assert_eq!(same.structured["error"]["hint"], "sandbox_vars names those that there are");
        let left_out = of_here(reply("sandbox_vars names those"), Profile::Sandbox, &["sandbox_vars"]);
        let expected = "sandbox_vars (which the operator adds with `--tools all`) names those";
        assert_eq!(left_out.structured["error"]["hint"], expected);
        assert!(left_out.text.contains(expected), "{}", left_out.text);
        let left_out = of_here(reply("run_lint looks, and a run_line"), Profile::Sandbox, &["run_lint"]);
        let expected = "run_lint (which the operator adds with `--tools all`) looks, and a run_line";
        assert_eq!(left_out.structured["error"]["hint"], expected);
    }
}
