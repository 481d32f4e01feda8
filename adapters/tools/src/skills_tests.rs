//! Which folders are skills, and what is told of them.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;
use crate::spec::answer::Part as _;

fn folder(skills: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, main) in skills {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join(MAIN), main).unwrap();
    }
    folder
}

#[test]
fn a_skill_is_mounted_in_both_places_and_told_by_its_beginning() {
    let folder = folder(&[(
        "codegen",
        "---\nname: codegen\ndescription: \"Fixes \\\"bugs\\\"\"\n---\n# Codegen\n\nLong.\n",
    )]);
    std::fs::write(folder.path().join("codegen/run.sh"), "echo secret-script").unwrap();
    let mut skills = Skills::default();
    skills.add(&folder.path().join("codegen")).unwrap();
    let grants = skills.granted(&Grants::default()).unwrap();
    let targets: Vec<_> = grants.mounts.iter().map(|mount| (mount.target.as_str(), mount.access)).collect();
    assert_eq!(
        targets,
        [("/skills/codegen", Access::ReadOnly), ("/workspace/skills/codegen", Access::ReadOnly)]
    );
    let shown = skills.shown().json().unwrap();
    assert_eq!(
        shown,
        json!([{"name": "codegen", "path": "/skills/codegen", "description": "Fixes \"bugs\""}])
    );
    assert!(!shown.to_string().contains("secret-script"));
}

#[test]
fn the_beginning_of_a_skill_is_its_description_or_its_first_paragraph() {
    let long = "é".repeat(2_000);
    for (main, told) in [
        ("---\ndescription: plain text\n---\nbody", "plain text"),
        ("---\ndescription: >\n  folded\n  text\nother: x\n---\n", "folded text"),
        ("---\ndescription: goes\n  on\n---\n", "goes on"),
        ("---\nname: x\n---\n# Head\n\nFirst\nlines.\n\nMore.", "First\nlines."),
        ("# Head\n\nFirst.", "First."),
        ("# Only", "# Only"),
        ("---\ndescription: never closed", "---\ndescription: never closed"),
        ("", ""),
        (&long, &long[..1_024]),
    ] {
        assert_eq!(about(main), told);
    }
}

#[test]
fn what_is_no_skill_is_refused_with_its_reason() {
    let folder = folder(&[("a", "a"), ("b", "b"), ("with space", "x"), ("..b", "x")]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let mut skills = Skills::default();
    skills.add(&folder.path().join("a")).unwrap();
    for (name, code, part) in [
        ("a", ErrorCode::ArgsInvalid, "two skills `a`"),
        ("empty", ErrorCode::PathDenied, "no SKILL.md"),
        ("none", ErrorCode::PathDenied, "cannot be read"),
        ("with space", ErrorCode::ArgsInvalid, "not a valid name of a skill"),
        ("..b", ErrorCode::ArgsInvalid, "not a valid name of a skill"),
    ] {
        let error = skills.add(&folder.path().join(name)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(part), "{error}");
    }
    assert!(
        Skills::default()
            .add_all(&folder.path().join("empty"))
            .unwrap_err()
            .message()
            .contains("contains no skills")
    );
    let taken = Grants { mounts: vec![Mount::parse("x:/skills/a").unwrap()], ..Grants::default() };
    assert_eq!(skills.granted(&taken).unwrap_err().code(), ErrorCode::ArgsInvalid);
}

#[test]
fn all_folders_of_a_folder_are_skills_in_the_order_of_their_names() {
    let folder = folder(&[("b", "b"), ("a", "a")]);
    std::fs::write(folder.path().join("README.md"), "no skill").unwrap();
    let mut skills = Skills::default();
    skills.add_all(folder.path()).unwrap();
    let names: Vec<_> = skills.shown().iter().map(|skill| skill.name.clone()).collect();
    assert_eq!(names, ["a", "b"]);
}

/// A link that leads out of the folder shows nothing, and a pipe waits for nobody.
#[test]
fn fs_03_a_skill_that_links_out_of_its_folder_tells_nothing() {
    let folder = folder(&[("other", "outside")]);
    let skill = folder.path().join("linked");
    std::fs::create_dir(&skill).unwrap();
    symlink("../other/SKILL.md", skill.join(MAIN)).unwrap();
    let error = Skills::default().add(&skill).unwrap_err();
    assert!(error.message().contains("leads out of the folder"), "{error}");
    std::fs::remove_file(skill.join(MAIN)).unwrap();
    std::fs::create_dir(skill.join(MAIN)).unwrap();
    assert!(Skills::default().add(&skill).is_err());
}
