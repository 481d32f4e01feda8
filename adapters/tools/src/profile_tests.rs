//! The profiles of seeds: their listings and texts are the seeds' own, typed here from the documents.

use std::time::Duration;

use super::kept::Desk;
use super::*;

/// The seed's schemas, to the letter.
const SPRITES: [(&str, &str, &str); 7] = [
    (
        "sprite_checkpoint",
        "Create a checkpoint (snapshot) of a sandbox's current state.",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Name or ID of the sprite"},"checkpointName":{"type":"string","description":"Optional name/comment for the checkpoint"}},"required":["name"]}"#,
    ),
    (
        "sprite_create",
        "Create a new sandbox environment (sprite).",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Name of the sprite"},"repoUrl":{"type":"string","description":"Optional Git repository URL to clone"}},"required":["name"]}"#,
    ),
    (
        "sprite_exec",
        "Execute a shell command inside a sandbox.",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Name or ID of the sprite"},"command":{"type":"string","description":"Command to execute"},"timeout":{"type":"number","description":"Timeout in milliseconds (default: 30000)"}},"required":["name","command"]}"#,
    ),
    ("sprite_list", "List all active sandboxes.", r#"{"type":"object","properties":{}}"#),
    (
        "sprite_restore",
        "Restore a sandbox to a previous checkpoint.",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Name or ID of the sprite"},"checkpointId":{"type":"string","description":"ID of the checkpoint to restore"}},"required":["name","checkpointId"]}"#,
    ),
    (
        "sprite_shutdown",
        "Shutdown (hibernate) a running sandbox to save resources.",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Name or ID of the sprite"}},"required":["name"]}"#,
    ),
    (
        "sprite_wake",
        "Wake (start) a hibernated sandbox.",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Name or ID of the sprite"}},"required":["name"]}"#,
    ),
];

#[test]
fn sprites_are_listed_as_the_seed_lists_them() {
    let desk = Desk::new(Profile::Sprites);
    let names: Vec<_> = desk.surface.list().iter().map(|spec| spec.name).collect();
    let seed = SPRITES.iter().map(|(name, ..)| *name);
    assert_eq!(
        names,
        ["sandbox_destroy", "sandbox_list_checkpoints", "sandbox_remove_checkpoint"]
            .into_iter()
            .chain(seed)
            .collect::<Vec<_>>()
    );
    for (name, description, schema) in SPRITES {
        let spec = desk.surface.get(name).unwrap();
        assert_eq!(
            (spec.description.as_str(), spec.input_schema.to_string().as_str()),
            (description, schema)
        );
    }
}

/// S4-03: what is answered can be asked for, within the operator's bounds.
#[test]
fn s4_03_the_resource_limits_of_a_sprite_can_be_chosen() {
    let desk = Desk::new(Profile::Sprites);
    let make = |name: &str, limits: Json| {
        desk.call("sprite_create", json!({"name": name, "resourceLimits": limits}))
    };
    for (name, limits, wanted) in [
        ("a", json!({"cpu": 0.5, "memory": 128}), json!({"cpu": 0.5, "memory": 128})),
        ("b", json!({"memory": 64.0, "cpu": null}), json!({"cpu": 1, "memory": 64})),
        // Without a container there is one core.
        ("c", json!({"cpu": 2}), json!({"cpu": 1, "memory": 512})),
        ("d", json!({}), json!({"cpu": 1, "memory": 512})),
        ("e", json!(null), json!({"cpu": 1, "memory": 512})),
    ] {
        let made = make(name, limits.clone());
        assert_eq!(made.structured["resourceLimits"], wanted, "{limits}: {}", made.text);
    }
    for (limits, part) in [
        (json!({"memory": 1_000_000}), "`resourceLimits.memory` is 1000000, outside 16 to 512"),
        (json!({"memory": 1}), "outside 16 to 512"),
        (json!({"cpu": 0}), "`resourceLimits.cpu` is 0, outside 0.01 to"),
        (json!({"cpu": -1}), "outside"),
        (json!({"cpu": "2"}), "is not a number"),
        (json!({"disk": 1}), "`resourceLimits.disk` is not known"),
        (json!([2]), "not an object"),
    ] {
        let refused = make("x", limits.clone());
        assert!(refused.is_error && refused.text.contains(part), "{limits}: {}", refused.text);
        assert!(refused.text.starts_with("Error: "), "{}", refused.text);
    }
    assert_eq!(desk.call("sprite_list", json!({})).structured["sprites"].as_array().unwrap().len(), 5);
}

/// S4-03 to S4-14: the seed's example texts, with our ids in them.
#[test]
fn sprites_answer_in_the_seeds_texts() {
    let desk = Desk::new(Profile::Sprites);
    let made = desk.call("sprite_create", json!({"name": "dev-environment"}));
    let id = made.structured["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("sprite-") && id.len() == 33, "{id}");
    assert_eq!(
        made.text,
        format!(
            "{{\n  \"id\": \"{id}\",\n  \"name\": \"dev-environment\",\n  \"status\": \"running\",\n  \"lastActivityAt\": \"2026-01-25T02:00:00.000Z\",\n  \"createdAt\": \"2026-01-25T02:00:00.000Z\",\n  \"resourceLimits\": {{\n    \"cpu\": 1,\n    \"memory\": 512\n  }}\n}}"
        )
    );
    desk.clock.advance(Duration::from_secs(100));
    let saved = desk.call("sprite_checkpoint", json!({"name": id, "checkpointName": "before-deployment"}));
    let (checkpoint, size) = (saved.structured["id"].as_str().unwrap(), &saved.structured["sizeBytes"]);
    assert!(checkpoint.starts_with("ckpt-"));
    assert_eq!(
        saved.text,
        format!(
            "{{\n  \"id\": \"{checkpoint}\",\n  \"spriteId\": \"{id}\",\n  \"name\": \"before-deployment\",\n  \"createdAt\": \"2026-01-25T02:01:40.000Z\",\n  \"sizeBytes\": {size}\n}}"
        )
    );
    // A comment that cannot be a name is found by what it says, as a name is.
    for comment in ["before / deploy!", "a: b / c"] {
        let saved = desk.call("sprite_checkpoint", json!({"name": id, "checkpointName": comment}));
        assert_eq!(saved.structured["name"], comment);
        let arguments = json!({"name": id, "checkpointId": comment});
        let restored = desk.call("sprite_restore", arguments.clone());
        assert_eq!(restored.text, format!("Successfully restored sprite '{id}' to checkpoint '{comment}'"));
        let removed = desk.call("sandbox_remove_checkpoint", arguments.clone());
        assert!(!removed.is_error, "{}", removed.text);
        let gone = desk.call("sprite_restore", arguments);
        assert_eq!(gone.structured["error"]["code"], "unknown_checkpoint", "{}", gone.text);
    }
    let exact = json!({"name": id, "command": "pwd", "timeout": 300.5});
    let ran = desk.call("sprite_exec", exact);
    assert!(!ran.is_error, "the schema says `number`: {}", ran.text);
    let ours = format!("sb-{}", &id[7..]);
    for name in ["dev-environment", &id, &ours] {
        for (tool, arguments, text) in [
            (
                "sprite_restore",
                json!({"name": name, "checkpointId": checkpoint}),
                format!("Successfully restored sprite '{name}' to checkpoint '{checkpoint}'"),
            ),
            ("sprite_shutdown", json!({"name": name}), format!("Shutdown initiated for sprite '{name}'")),
            ("sprite_wake", json!({"name": name}), format!("Wake initiated for sprite '{name}'")),
        ] {
            assert_eq!(desk.call(tool, arguments).text, text);
        }
    }
    desk.call("sprite_shutdown", json!({"name": id}));
    let listed = desk.call("sprite_list", json!({}));
    assert_eq!(
        listed.text,
        format!(
            "[\n  {{\n    \"id\": \"{id}\",\n    \"name\": \"dev-environment\",\n    \"status\": \"shutdown\",\n    \"lastActivityAt\": \"2026-01-25T02:01:40.000Z\",\n    \"createdAt\": \"2026-01-25T02:00:00.000Z\"\n  }}\n]"
        )
    );
    assert_eq!(listed.structured["sprites"][0]["id"], id);
    let all = desk.call("sandbox_list_checkpoints", json!({"name": id})).structured;
    assert_eq!(all["checkpoints"], json!([saved.structured]));
    let gone = json!({"name": id, "checkpointId": checkpoint});
    let text = format!("Removed checkpoint '{checkpoint}' of sprite '{id}'");
    assert_eq!(desk.call("sandbox_remove_checkpoint", gone.clone()).text, text);
    assert_eq!(desk.code("sandbox_remove_checkpoint", gone), "unknown_checkpoint");
    assert_eq!(desk.call("sandbox_destroy", json!({"name": id})).text, format!("Destroyed sprite '{id}'"));
    assert_eq!(desk.call("sprite_list", json!({})).text, "[]");
}

/// What cannot be a name is a comment all the same, and the checkpoint is found by it, as by the name that it is shown with.
#[test]
fn a_checkpoint_of_a_sprite_is_found_by_its_comment() {
    let desk = Desk::new(Profile::Sprites);
    desk.ok("sprite_create", json!({"name": "a"}));
    let comment = "before / deploy!";
    for tool in ["sprite_restore", "sandbox_remove_checkpoint", "sandbox_remove_checkpoint"] {
        desk.ok("sprite_checkpoint", json!({"name": "a", "checkpointName": comment}));
        desk.ok(tool, json!({"name": "a", "checkpointId": comment}));
    }
    let left = desk.ok("sandbox_list_checkpoints", json!({"name": "a"}));
    assert_eq!(left["checkpoints"].as_array().map(Vec::len), Some(1), "{left}");
    let told = |tool: &str, arguments| desk.call(tool, arguments).text;
    assert_eq!(told("sprite_create", json!({"name": "a"})), "Error: there is a sprite 'a' already");
    assert_eq!(told("sprite_wake", json!({"name": "b"})), "Error: there is no sprite 'b'");
    let unknown = json!({"name": "a", "checkpointId": "after / deploy!"});
    assert_eq!(told("sprite_restore", unknown), "Error: there is no checkpoint 'after / deploy!'");
}

/// S4-13, S4-16: `Error: <message>` and nothing more; each with its own code.
#[test]
fn sprites_refuse_in_the_seeds_form() {
    let desk = Desk::new(Profile::Sprites);
    desk.ok("sprite_create", json!({"name": "a"}));
    desk.ok("sprite_create", json!({"name": "b"}));
    let saved = desk.ok("sprite_checkpoint", json!({"name": "a"}));
    let made_up = format!("sprite-{}", "a".repeat(26));
    for (tool, arguments, code) in [
        ("sprite_create", json!({"name": "a"}), "name_taken"),
        ("sprite_create", json!({"name": made_up}), "args_invalid"),
        ("sprite_exec", json!({"name": "none", "command": "ls"}), "unknown_sandbox"),
        ("sprite_exec", json!({"name": "a"}), "args_invalid"),
        ("sprite_restore", json!({"name": "a", "checkpointId": "ckpt-xyz789"}), "unknown_checkpoint"),
        ("sprite_restore", json!({"name": "b", "checkpointId": saved["id"]}), "checkpoint_of_other_sandbox"),
        ("sprite_wake", json!({"name": made_up}), "unknown_sandbox"),
        ("sandbox_destroy", json!({"name": "a/../b"}), "unknown_sandbox"),
    ] {
        let reply = desk.call(tool, arguments.clone());
        assert_eq!(reply.structured["error"]["code"], code, "{tool} {arguments}");
        let message = reply.structured["error"]["message"].as_str().unwrap();
        assert_eq!(reply.text, format!("Error: {message}"));
    }
    assert_eq!(desk.ok("sprite_list", json!({}))["sprites"].as_array().unwrap().len(), 2);
}

/// S3-02, S3-04: six tools and one that counts, listed without a sandbox; the first call makes it.
#[test]
fn the_repl_is_made_by_its_first_call() {
    let desk = Desk::new(Profile::Rlm);
    let names: Vec<_> = desk.surface.list().iter().map(|spec| spec.name).collect();
    let all = ["rlm_exec", "rlm_get", "rlm_load", "rlm_reset", "rlm_sub_agent", "rlm_usage", "rlm_vars"];
    assert_eq!(names, all);
    assert_eq!(desk.provider.woken(), 0);
    let timeout = &desk.surface.get("rlm_exec").unwrap().input_schema["properties"]["timeout"];
    assert_eq!((&timeout["default"], &timeout["maximum"]), (&json!(30), &json!(60)));
    assert_eq!(desk.call("rlm_vars", json!({})).text, "[]");
    assert_eq!(desk.provider.woken(), 1);
}

/// S3-05 to S3-13.
#[test]
fn the_repl_keeps_its_variables_until_it_is_reset() {
    let desk = Desk::new(Profile::Rlm);
    let path = desk.write("file.py", b"x = 1\n");
    let text = |name: &str, arguments: Json| desk.call(name, arguments).text;
    assert_eq!(text("rlm_load", json!({"path": path, "var": "src"})), "Loaded file.py into `src` (6 chars)");
    assert_eq!(text("rlm_exec", json!({"code": "set x 42"})), "(no output)");
    assert_eq!(text("rlm_exec", json!({"code": "get x"})), "\"42\"");
    assert_eq!(text("rlm_exec", json!({"code": "hello"})), "hello");
    // The machine of these tests repeats the expression that it is asked for: name and query are arguments in it.
    let shown = text("rlm_get", json!({"name": "x"}));
    assert!(shown.contains(r#"[\"x\",null,0,"#) && shown.ends_with(": 42\""), "{shown}");
    let shown = text("rlm_get", json!({"name": "x", "query": "len(x)", "offset": 7}));
    assert!(shown.contains(r#"[\"x\",\"len(x)\",7,"#) && shown.ends_with(": 42\""), "{shown}");
    assert_eq!(desk.code("rlm_get", json!({"name": "nope"})), "not_found");
    let vars = text("rlm_vars", json!({}));
    assert!(vars.contains(r#"{"name":"x","type":"str","summary":"42"}"#), "{vars}");
    let stopped = desk.call("rlm_exec", json!({"code": "stop"}));
    assert!(stopped.is_error && stopped.structured["error"]["code"] == "limit_time");
    assert_eq!(stopped.structured["recovery"], "before_run");
    desk.ok("rlm_reset", json!({}));
    assert_eq!(text("rlm_vars", json!({})), "[]");
    let agent = json!({"signature": "question -> answer", "inputs": {"question": "?"}});
    assert_eq!(desk.code("rlm_sub_agent", agent), "capability_unavailable");
    assert_eq!(desk.code("rlm_sub_agent", json!({"signature": "a", "inputs": "?"})), "args_invalid");
    assert_eq!(desk.code("rlm_exec", json!({"code": "1", "timeout": 61})), "args_invalid");
}

#[test]
fn several_profiles_are_offered_at_once_and_the_first_has_a_name_that_two_have() {
    let names = |desk: &Desk| desk.surface.list().iter().map(|spec| spec.name).collect::<Vec<_>>();
    let mut both = [names(&Desk::new(Profile::Sprites)), names(&Desk::new(Profile::Rlm))].concat();
    both.sort_unstable();
    let desk = Desk::new(Profile::Sprites).with_profiles(&[Profile::Sprites, Profile::Rlm]);
    assert_eq!(names(&desk), both);
    assert_eq!(desk.surface.identity().0, "dormouse", "the seed's name is that of its tools alone");
    let told = desk.surface.instructions();
    assert!(told.contains("sprite_create") && told.contains("rlm_exec"), "{told}");
    let made = desk.call("sprite_create", json!({"name": "a"}));
    assert!(made.structured["id"].as_str().unwrap().starts_with("sprite-"), "{made:?}");
    assert!(desk.call("rlm_vars", json!({})).structured.is_object());

    // `sandbox_destroy` of `sprites` takes a name, and the canonical one a sandbox.
    let field = |profiles: &[Profile]| {
        let desk = Desk::new(Profile::Sandbox).with_profiles(profiles);
        let spec = desk.surface.get("sandbox_destroy").unwrap();
        spec.input_schema["properties"].as_object().unwrap().keys().next().unwrap().clone()
    };
    assert_eq!(field(&[Profile::Sprites, Profile::Sandbox]), "name");
    assert_eq!(field(&[Profile::Sandbox, Profile::Sprites]), "sandbox");
}

#[test]
fn a_hint_names_the_tools_of_the_profile_that_was_called() {
    let desk = Desk::new(Profile::Sprites).with_profiles(&[Profile::Rlm, Profile::Sprites]);
    let refused = desk.call("sprite_exec", json!({"name": "none", "command": "ls"}));
    assert!(refused.is_error && !refused.text.contains("rlm_"), "{}", refused.text);
}
