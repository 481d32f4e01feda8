//! The helper scripts that tests include by name. SpiderMonkey's copy of test262 has joined them into `shell.js` files;
//! here they are taken apart again.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::guests::workspace;

/// What stands before each helper in a `shell.js`.
const MARK: &str = "// file: ";

/// Every helper by its file name.
pub(super) struct Harness {
    helpers: HashMap<String, String>,
    host: String,
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
        let path = workspace().join("tests/conformance/test262/host.js");
        let host = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(Self { helpers, host })
    }

    /// The script that runs before a test which includes these helpers.
    pub(super) fn before(&self, includes: &[String]) -> Result<String, String> {
        let mut script = self.host.clone();
        for name in ["assert.js", "sta.js"].into_iter().chain(includes.iter().map(String::as_str)) {
            // Part of the host's script.
            if name == "doneprintHandle.js" {
                continue;
            }
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
