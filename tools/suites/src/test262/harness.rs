//! The helper scripts that tests include by name. SpiderMonkey's copy of test262 has joined them into `shell.js` files;
//! here they are taken apart again.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse_chores::workspace;

use super::script::Script;

/// What stands before each helper in a `shell.js`.
const MARK: &str = "// file: ";

/// Every helper by its file name.
pub(super) struct Harness {
    helpers: HashMap<String, String>,
    host: String,
    done: String,
}

/// Reads a script of our own, such as `host.js`.
pub(super) fn own(name: &str) -> Result<String> {
    let path = workspace().join("tests/conformance/test262").join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
}

impl Harness {
    /// Reads the helpers below `root`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut helpers = HashMap::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                }
            }
            if let Ok(text) = fs::read_to_string(folder.join("shell.js")) {
                split(&text, &mut helpers);
            }
        }
        Ok(Self { helpers, host: own("host.js")?, done: own("done.js")? })
    }

    /// The script that runs before a test.
    pub(super) fn before(&self, test: &Script) -> Result<String, String> {
        let mut script = String::new();
        if test.has("raw") {
            return Ok(script);
        }
        script.push_str(&self.host);
        if test.has("async") {
            script.push_str(&self.done);
        }
        for name in ["assert.js", "sta.js"].into_iter().chain(test.includes.iter().map(String::as_str)) {
            script.push_str(self.helpers.get(name).ok_or_else(|| format!("no helper `{name}`"))?);
            script.push('\n');
        }
        Ok(script)
    }
}

fn split(text: &str, helpers: &mut HashMap<String, String>) {
    let mut name = None;
    for line in text.split_inclusive('\n') {
        if let Some(next) = line.strip_prefix(MARK) {
            let next = next.trim().to_owned();
            // The same helper stands in many folders.
            name = (!helpers.contains_key(&next)).then_some(next);
            if let Some(name) = &name {
                helpers.insert(name.clone(), String::new());
            }
        } else if let Some(helper) = name.as_ref().and_then(|name| helpers.get_mut(name)) {
            helper.push_str(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_cut_at_their_marks_and_the_first_copy_counts() {
        let mut helpers = HashMap::new();
        split("// GENERATED\n// file: a.js\n1\n// file: b.js\n2\n3\n", &mut helpers);
        split("// file: a.js\n9\n", &mut helpers);
        assert_eq!(helpers["a.js"], "1\n");
        assert_eq!(helpers["b.js"], "2\n3\n");
    }
}
