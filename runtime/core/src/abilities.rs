//! What a provider can do, in words that are the same for all of them: clients read it (`sandbox_capabilities`), and the documents
//! have it as a table.

use serde::Serialize;

/// What a provider can do for a sandbox. What of it an operator allows, and whether the provider can be had just now, stands elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Abilities {
    /// What keeps code in: `webassembly`, `container`; `none` where nothing does.
    pub wall: &'static str,
    /// The languages that it can run, sorted.
    pub languages: &'static [&'static str],
    /// Who brings their interpreters: `installation` or `image`.
    pub interpreters: &'static str,
    /// What becomes of variables: `saved` with the sandbox, or lost when it is not `awake`.
    pub variables: &'static str,
    /// What checkpoints can be asked to hold.
    pub include: &'static [&'static str],
    /// What names an image: a `container`, or a `checkpoint` that the operator offers; `none` where there are none.
    pub images: &'static str,
    /// The most of a network that a sandbox can have: `none`, what the operator's `rules` allow, or all that goes `outbound`.
    pub network: &'static str,
    /// What `memory_bytes` bounds: each `interpreter`, or the `sandbox` as a whole.
    pub memory: &'static str,
    /// The limits that hold, by the names of their arguments.
    pub limits: &'static [&'static str],
    /// Whether it runs snippets without a sandbox.
    pub snippets: bool,
    /// Whether it runs programs of WASI by themselves (`dormouse run`).
    pub wasi_programs: bool,
    /// Whether command lines can run programs of an operating system, and start processes.
    pub system_programs: bool,
    /// Whether random numbers and the clock of a snippet can be fixed, and code that is made from text refused.
    pub fixed: bool,
    /// Whether sandboxes can be kept ready (`warm_pool`).
    pub warm_pool: bool,
}

/// A provider that can do nothing.
impl Default for Abilities {
    fn default() -> Self {
        Self {
            wall: "none",
            languages: &[],
            interpreters: "installation",
            variables: "awake",
            include: &[],
            images: "none",
            network: "none",
            memory: "interpreter",
            limits: &[],
            snippets: false,
            wasi_programs: false,
            system_programs: false,
            fixed: false,
            warm_pool: false,
        }
    }
}

impl Abilities {
    /// These where the operator has rules for the network, or has none: then there is no network by rules.
    #[must_use]
    pub fn with_rules(self, has_rules: bool) -> Self {
        if self.network == "rules" && !has_rules { Self { network: "none", ..self } } else { self }
    }

    /// A Markdown table with a column for each provider.
    pub fn table(providers: &[(&str, Self)]) -> String {
        let row = |name: &str, cell: &dyn Fn(&Self) -> String| {
            let cells: Vec<String> = providers.iter().map(|(_, abilities)| cell(abilities)).collect();
            format!("| {name} | {} |\n", cells.join(" | "))
        };
        let word = |word: &str| format!("`{word}`");
        let words = |words: &[&str]| match words {
            [] => "-".to_owned(),
            words => format!("`{}`", words.join("`, `")),
        };
        let flag = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let names: Vec<String> = providers.iter().map(|(name, _)| word(name)).collect();
        let rule = "| --- ".repeat(providers.len());
        let mut table = format!("| ability | {} |\n| --- {rule}|\n", names.join(" | "));
        table += &row("`wall`", &|one| word(one.wall));
        table += &row("`languages`", &|one| words(one.languages));
        table += &row("`interpreters`", &|one| word(one.interpreters));
        table += &row("`variables`", &|one| word(one.variables));
        table += &row("`include`", &|one| words(one.include));
        table += &row("`images`", &|one| word(one.images));
        table += &row("`network`", &|one| word(one.network));
        table += &row("`memory`", &|one| word(one.memory));
        table += &row("`limits`", &|one| words(one.limits));
        table += &row("`snippets`", &|one| flag(one.snippets));
        table += &row("`wasi_programs`", &|one| flag(one.wasi_programs));
        table += &row("`system_programs`", &|one| flag(one.system_programs));
        table += &row("`fixed`", &|one| flag(one.fixed));
        table += &row("`warm_pool`", &|one| flag(one.warm_pool));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_ability_and_a_column_for_each_provider() {
        let one = Abilities { limits: &["a", "b"], snippets: true, ..Abilities::default() };
        let table = Abilities::table(&[("one", one), ("other", Abilities::default())]);
        assert!(table.starts_with("| ability | `one` | `other` |\n| --- | --- | --- |\n"), "{table}");
        assert!(table.contains("| `limits` | `a`, `b` | - |\n| `snippets` | yes | no |\n"), "{table}");
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(one) else { panic!("an object") };
        let rows: Vec<&str> =
            table.lines().skip(2).map(|row| row.split('`').nth(1).expect("a name")).collect();
        assert_eq!(rows, fields.keys().map(String::as_str).collect::<Vec<_>>());
    }
}
