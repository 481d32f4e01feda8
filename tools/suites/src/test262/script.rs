//! One test file: its text as test262 has it, and what its front matter asks for.

/// A test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The source, without what SpiderMonkey's import added.
    pub(super) source: String,
    pub(super) flags: Vec<String>,
    pub(super) includes: Vec<String>,
    pub(super) features: Vec<String>,
    /// The class of the error that it has to end with.
    pub(super) negative: Option<String>,
}

impl Script {
    /// Reads a file of SpiderMonkey's copy of test262.
    pub(super) fn parse(text: &str) -> Self {
        let mut script = Self::default();
        if let Some((matter, _)) = text.split_once("/*---").and_then(|(_, rest)| rest.split_once("---*/")) {
            // Tests about line terminators use no others.
            script.read_front_matter(&matter.replace('\r', "\n"));
        }
        // `// |reftest| ...` tells SpiderMonkey's runner what the front matter says already.
        let own = match text.split_once('\n') {
            Some((first, rest)) if first.starts_with("// |reftest|") => rest,
            _ => text,
        };
        let own =
            if script.has("raw") { own.strip_suffix("\nreportCompare(0, 0);\n").unwrap_or(own) } else { own };
        own.clone_into(&mut script.source);
        script
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }

    fn read_front_matter(&mut self, matter: &str) {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let lines = || matter.lines().filter(|line| !line.trim().is_empty());
        // A few files indent all of it.
        let outer = lines().map(indent).min().unwrap_or(0);
        let mut key = String::new();
        for line in lines() {
            let inner = line.trim();
            let nested = indent(line) > outer || inner.starts_with("- ");
            if !nested {
                let Some((word, value)) = inner.split_once(':') else { continue };
                word.clone_into(&mut key);
                let value = value.trim().trim_start_matches('[').trim_end_matches(']');
                value.split(',').for_each(|item| self.add(&key, item));
            } else if let Some(item) = inner.strip_prefix("- ") {
                self.add(&key, item);
            } else if let Some(class) = inner.strip_prefix("type:").filter(|_| key == "negative") {
                self.negative = Some(class.trim().to_owned());
            }
        }
    }

    fn add(&mut self, key: &str, item: &str) {
        let list = match key {
            "flags" => &mut self.flags,
            "includes" => &mut self.includes,
            "features" => &mut self.features,
            _ => return,
        };
        let item = item.split(" #").next().unwrap_or_default().trim();
        if !item.is_empty() {
            list.push(item.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_read_in_both_of_its_forms() {
        let text = "// |reftest| error:SyntaxError\n/*---\nflags: [raw, onlyStrict]\nincludes:\n  - a.js\n  - b.js\n\
                    negative:\n  phase: parse\n  type: SyntaxError\ninfo: |\n  flags: [x]\nfeatures: [let, const]\n---*/\n\
                    1;\n\nreportCompare(0, 0);\n";
        let script = Script::parse(text);
        assert_eq!(script.flags, ["raw", "onlyStrict"]);
        assert_eq!(script.includes, ["a.js", "b.js"]);
        assert_eq!(script.features, ["let", "const"]);
        assert_eq!(script.negative.as_deref(), Some("SyntaxError"));
        assert!(script.source.starts_with("/*---") && script.source.ends_with("1;\n"));
        let indented = Script::parse("/*---\n  negative:\n    type: SyntaxError\n  features: [let]\n---*/\n");
        assert_eq!((indented.negative.as_deref(), indented.features.len()), (Some("SyntaxError"), 1));
    }
}
