//! Modules of a crate use each other in one direction, so that each can be read, tested and moved by itself.
//!
//! Looked at are the modules at the top of a crate, each with all that lies below it. What only tests use does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, read, root};

/// The crates without a circle.
const OPEN: [&str; 19] = [
    "adapters/archives",
    "adapters/connect",
    "adapters/containers",
    "adapters/docker",
    "adapters/egress",
    "adapters/git",
    "adapters/http",
    "adapters/kubernetes",
    "adapters/models",
    "adapters/packages",
    "adapters/scenario",
    "adapters/sources",
    "adapters/tools",
    "runtime/dormouse",
    "runtime/wasm",
    "tools/chores",
    "tools/engine",
    "tools/guests",
    "tools/suites",
];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Which of the others each module of a crate uses.
fn graph(of: &str) -> Graph {
    let source = root().join(of).join("src");
    let mut graph = Graph::new();
    for file in files(&["rs"]) {
        let Ok(path) = file.strip_prefix(&source) else { continue };
        let path = path.with_extension("");
        let steps: Vec<&str> = path.iter().filter_map(|step| step.to_str()).collect();
        let (module, name) = (steps[0], *steps.last().expect("a name"));
        if ["lib", "main"].contains(&module) || name.ends_with("tests") || name == "testing" {
            continue;
        }
        let depth = steps.len() - usize::from(name == "mod");
        graph.entry(module.to_owned()).or_default().extend(used(&read(&file), depth));
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, used) in &mut graph {
        used.retain(|used| used != module && modules.contains(used));
    }
    graph
}

/// The names at the root of the crate that a file uses, `depth` modules below that.
fn used(text: &str, depth: usize) -> BTreeSet<String> {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let mut used = BTreeSet::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&root) {
            // One more step up is another place.
            if !code[..at].ends_with("::") {
                used.extend(first_names(&code[at + root.len()..]));
            }
        }
    }
    used
}

/// The first names of what follows `crate::`: one, or those between braces.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| {
        text.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned)
    };
    let Some(group) = rest.strip_prefix('{') else { return name(rest).into_iter().collect() };
    let (mut depth, mut from, mut names) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.extend(name(&group[from..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.extend(name(&group[from..at]));
                from = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// The modules that need each other: those that are left when all that use nothing, or are used by nobody, are taken away.
fn circles(mut graph: Graph) -> Vec<String> {
    loop {
        let all: BTreeSet<String> = graph.values().flatten().cloned().collect();
        let gone: BTreeSet<String> = graph
            .iter()
            .filter(|(module, used)| used.is_empty() || !all.contains(*module))
            .map(|(module, _)| module.clone())
            .collect();
        if gone.is_empty() {
            return graph.iter().map(|(module, used)| format!("{module} -> {used:?}")).collect();
        }
        graph.retain(|module, _| !gone.contains(module));
        graph.values_mut().for_each(|used| used.retain(|used| !gone.contains(used)));
    }
}

#[test]
fn modules_use_each_other_in_one_direction() {
    for of in OPEN {
        assert!(root().join(of).join("src").is_dir(), "there is no {of}");
        let left = circles(graph(of));
        assert!(left.is_empty(), "modules of {of} need each other:\n{}", left.join("\n"));
    }
}

#[test]
fn a_circle_is_found() {
    let uses = |text: &str, depth| used(text, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(uses("use crate::{a::{B, C}, d};\nfn x() { crate::e::f() } // crate::g", 1), ["a", "d", "e"]);
    assert_eq!(uses("use super::a::B;", 1), ["a"]);
    assert_eq!(uses("use super::a::B; use super::super::c;", 2), ["c"]);
    assert_eq!(uses("use crate::a;\n\n#[cfg(test)]\nmod tests {\n use crate::b;\n}", 1), ["a"]);
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*to).to_owned()).or_default();
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    assert!(circles(graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    assert_eq!(circles(graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])).len(), 2);
}
