//! Hints in the words of this door: a command where a tool is named.

mod options;

pub(crate) use options::{in_options, option};

use dormouse::mistaken::in_other_words;
use dormouse_tools::reworded;
use serde_json::Value as Json;

/// Fields of an answer that are errors.
const ERRORS: [&str; 5] = ["error", "warning", "unavailable", "cause", "unsaved"];

/// Arguments that hints name, and the options for them.
const OPTIONS: [(&str, &str); 3] = [
    ("`recursive`", "`--recursive`"),
    ("`replace`", "`--replace`"),
    ("`provider`: `docker`", "`--docker-image IMAGE --provider docker`"),
];

/// The text with commands and options in place of the tools and arguments that it names, and with the option in place of a
/// language that it names.
pub(crate) fn in_commands(text: &str) -> String {
    let text = in_other_words(text, |language| format!("add `-l {language}`"));
    let text = reworded(&text, |tool| command(tool).map(|command| format!("`dormouse sandbox {command}`")));
    OPTIONS.iter().fold(text, |text, (argument, option)| text.replace(argument, option))
}

/// The answer of a tool with the hints of its errors so.
pub(crate) fn of_answer(mut answer: Json) -> Json {
    for name in ERRORS {
        let hint = answer.get_mut(name).and_then(|error| error.get_mut("hint"));
        if let Some(Json::String(hint)) = hint {
            *hint = in_commands(hint);
        }
    }
    answer
}

/// A text in the words of lines that are typed one by one.
pub(crate) fn in_lines(text: &str) -> String {
    let text = in_other_words(text, |language| format!("`.language {language}` changes it"));
    reworded(&text, |tool| line(tool).map(|line| format!("`{line}`")))
}

fn line(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "sandbox_files" => ".files",
        "sandbox_checkpoint" => ".checkpoint",
        "sandbox_list_checkpoints" => ".checkpoints",
        "sandbox_restore" => ".restore",
        "sandbox_vars" => ".vars",
        "sandbox_reset" => ".reset",
        _ => return None,
    })
}

fn command(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "sandbox_create" => "create",
        "sandbox_list" => "list",
        "sandbox_get" => "show",
        "sandbox_eval" => "eval",
        "sandbox_exec" => "exec",
        "sandbox_files" => "files",
        "sandbox_read" | "sandbox_write" | "sandbox_upload" | "sandbox_download" => "cp",
        "sandbox_make_folder" => "mkdir",
        "sandbox_rename_file" => "mv",
        "sandbox_remove_file" => "rm-file",
        "sandbox_checkpoint" => "checkpoint",
        "sandbox_list_checkpoints" => "checkpoints",
        "sandbox_describe_checkpoint" => "describe-checkpoint",
        "sandbox_remove_checkpoint" => "rm-checkpoint",
        "sandbox_restore" => "restore",
        "sandbox_fork" => "fork",
        "sandbox_vars" => "vars",
        "sandbox_reset" => "reset",
        "sandbox_stop" => "stop",
        "sandbox_resume" => "resume",
        "sandbox_destroy" => "rm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use serde_json::json;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn hints_of_answers_name_commands() {
        let told = of_answer(json!({"error": {"code": "not_found", "hint": "sandbox_list names those"}}));
        assert_eq!(told["error"]["hint"], "`dormouse sandbox list` names those");
        let same = json!({"ok": true, "error": null, "stdout": "sandbox_list"});
        assert_eq!(of_answer(same.clone()), same);
    }

    #[test]
    fn hints_name_commands_that_there_are() {
        let other = "it looks like PHP: name `php` as the language";
        assert_eq!(in_commands(other), "it looks like PHP: add `-l php`");
        assert_eq!(in_lines(other), "it looks like PHP: `.language php` changes it");
        assert_eq!(in_commands("sandbox_vars names those"), "`dormouse sandbox vars` names those");
        assert_eq!(in_lines("sandbox_vars names those"), "`.vars` names those");
        assert_eq!(in_commands("say `recursive`"), "say `--recursive`");
        let chosen = "the tools are `sandbox_eval`, `sandbox_exec`";
        assert_eq!(in_commands(chosen), chosen, "what `--tools` takes");
        let cli = Arguments::command();
        let known = cli.find_subcommand("sandbox").unwrap();
        for tool in
            ["create", "get", "read", "list_checkpoints", "remove_checkpoint", "destroy", "stop", "reset"]
        {
            let name = command(&format!("sandbox_{tool}")).unwrap();
            assert!(known.find_subcommand(name).is_some(), "{name}");
        }
    }
}
