//! Names of servers and tools as identifiers, the same in every language. A name that is one already keeps it.

use std::collections::{BTreeSet, HashMap};

/// Words that cannot stand everywhere as a name: the keywords of Python, JavaScript and PHP, and what objects of these languages are
/// asked for by their runtimes. Sorted.
const RESERVED: [&str; 107] = [
    "False",
    "None",
    "True",
    "_path",
    "abstract",
    "and",
    "array",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "callable",
    "case",
    "catch",
    "class",
    "clone",
    "const",
    "continue",
    "debugger",
    "declare",
    "def",
    "default",
    "del",
    "delete",
    "die",
    "do",
    "echo",
    "elif",
    "else",
    "elseif",
    "empty",
    "enddeclare",
    "endfor",
    "endforeach",
    "endif",
    "endswitch",
    "endwhile",
    "enum",
    "eval",
    "except",
    "exit",
    "export",
    "extends",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "foreach",
    "from",
    "function",
    "global",
    "goto",
    "if",
    "implements",
    "import",
    "in",
    "include",
    "include_once",
    "instanceof",
    "insteadof",
    "interface",
    "is",
    "isset",
    "lambda",
    "let",
    "list",
    "match",
    "namespace",
    "new",
    "nonlocal",
    "not",
    "null",
    "or",
    "package",
    "parent",
    "pass",
    "print",
    "private",
    "protected",
    "public",
    "raise",
    "readonly",
    "require",
    "require_once",
    "return",
    "self",
    "static",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "toJSON",
    "trait",
    "true",
    "try",
    "typeof",
    "unset",
    "use",
    "var",
    "void",
    "while",
    "with",
    "xor",
    "yield",
];

/// Longest identifier, in characters.
const MAX: usize = 64;

/// The identifiers of names, in the order of the names. Two names never have the same, and none is another's name. Which one of
/// several gets which does not depend on their order.
pub(crate) fn identifiers(names: &[&str], further: &[&str]) -> Vec<String> {
    let mut taken: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut sorted: Vec<&str> = names.to_vec();
    sorted.sort_unstable();
    let mut found: HashMap<&str, String> = HashMap::with_capacity(names.len());
    // Where many names come to the same, each is tried from where the last one was found.
    let mut last: HashMap<String, usize> = HashMap::new();
    for name in sorted {
        if found.contains_key(name) {
            continue;
        }
        let plain = plain(name, further);
        let identifier = if plain == name { plain } else { free(plain, &taken, &mut last) };
        taken.insert(identifier.clone());
        found.insert(name, identifier);
    }
    names.iter().map(|name| found.get(name).cloned().unwrap_or_default()).collect()
}

fn free(plain: String, taken: &BTreeSet<String>, last: &mut HashMap<String, usize>) -> String {
    if !taken.contains(&plain) {
        return plain;
    }
    let number = last.entry(plain.clone()).or_insert(1);
    loop {
        *number += 1;
        let candidate = format!("{plain}_{number}");
        if !taken.contains(&candidate) {
            return candidate;
        }
    }
}

/// A name as an identifier, whatever others there are.
fn plain(name: &str, further: &[&str]) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut plain: String = name.chars().map(fits).take(MAX).collect();
    // Names with two underscores at the beginning are Python's own.
    if plain.starts_with("__") {
        plain = format!("_{}", plain.trim_start_matches('_'));
    }
    if plain.starts_with(|c: char| c.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    let is_reserved = RESERVED.binary_search(&plain.as_str()).is_ok() || further.contains(&plain.as_str());
    // PHP's keywords have no case.
    if is_reserved || RESERVED.binary_search(&plain.to_ascii_lowercase().as_str()).is_ok() {
        plain.push('_');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        for (name, wanted) in [
            ("list_issues", "list_issues"),
            ("list-issues", "list_issues"),
            ("getUser", "getUser"),
            ("2fa", "_2fa"),
            ("a.b/c d", "a_b_c_d"),
            ("class", "class_"),
            ("foreach", "foreach_"),
            ("typeof", "typeof_"),
            ("NULL", "NULL_"),
            ("__init__", "_init__"),
            ("größe", "gr__e"),
            ("then", "then_"),
            ("search", "search"),
        ] {
            assert_eq!(identifiers(&[name], &[]), [wanted]);
        }
        assert_eq!(identifiers(&["search", "describe"], &["search", "describe"]), ["search_", "describe_"]);
        assert!(RESERVED.is_sorted());
    }

    /// A server that calls a tool nearly as another one does not get the other one's calls.
    #[test]
    fn run_20_of_names_that_collide_each_keeps_its_own_in_any_order() {
        let names = ["list-issues", "list_issues", "list.issues", "list_issues_2", "list issues"];
        let found = identifiers(&names, &[]);
        assert_eq!(
            found,
            ["list_issues_4", "list_issues", "list_issues_5", "list_issues_2", "list_issues_3"]
        );
        let mut turned = names;
        turned.reverse();
        let mut again = identifiers(&turned, &[]);
        again.reverse();
        assert_eq!(again, found);
    }

    #[test]
    fn a_hundred_thousand_names_that_collide_differ() {
        let names: Vec<String> = (0..100_000).map(|at| format!("{}{}", "-".repeat(70), at)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found: BTreeSet<String> = identifiers(&names, &[]).into_iter().collect();
        assert_eq!(found.len(), names.len());
    }
}
