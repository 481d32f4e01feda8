//! The `tsconfig.json` that a source is written for, and those that it extends. The guest reads them; here they are found.

use dormouse_core::GuestPath;
use dormouse_core::sandbox::Files;

/// The file, and its most bytes.
const NAME: &str = "tsconfig.json";
const MAX_BYTES: u64 = 64 << 10;
/// Most files that one comes to with those that it extends.
const MAX_FILES: usize = 16;
/// Most names that one extends, and most folders above one that are looked in.
pub(super) const MAX_NAMES: usize = 8;
const MAX_ABOVE: usize = 32;

/// A file, and where it lies.
pub(super) struct Found {
    pub(super) text: String,
    folder: String,
}

/// Texts in the order in which they count: a file stands before those that it extends.
#[derive(Default)]
pub(super) struct Chain(Vec<Found>);

impl Chain {
    /// The nearest one of a folder and those above it.
    pub(super) async fn begin(files: &mut impl Files, folder: &str) -> Option<Found> {
        for folder in upwards(folder) {
            if let Some(found) = read(files, &format!("{folder}/{NAME}")).await {
                return Some(found);
            }
        }
        None
    }

    /// Takes a file. False: there are as many as there may be.
    pub(super) fn take(&mut self, found: Found) -> bool {
        let has_room = self.0.len() < MAX_FILES;
        if has_room {
            self.0.push(found);
        }
        has_room
    }

    /// The form that the guest reads: one text as it is, several as a list.
    pub(super) fn text(self) -> String {
        let mut texts: Vec<String> = self.0.into_iter().map(|found| found.text).collect();
        match texts.len() {
            1 => texts.remove(0),
            _ => format!("[\n{}\n]", texts.join("\n,\n")),
        }
    }
}

impl Found {
    /// The file that this one extends by a name: a path, or a file of a package.
    pub(super) async fn extended(&self, files: &mut impl Files, name: &str) -> Option<Self> {
        let places = if name.starts_with(['.', '/']) {
            let path = joined(&self.folder, name);
            vec![path.clone(), format!("{path}.json")]
        } else {
            let packages = upwards(&self.folder).map(|folder| format!("{folder}/node_modules/{name}"));
            packages
                .flat_map(|path| [path.clone(), format!("{path}.json"), format!("{path}/{NAME}")])
                .collect()
        };
        for place in places {
            if let Some(found) = read(files, &place).await {
                return Some(found);
            }
        }
        None
    }
}

/// A path as seen from a folder.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = if name.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/").trim_start_matches('/'))
}

/// A folder and those above it, without the slash at their ends.
fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder.trim_end_matches('/')), |at| {
        at.rsplit_once('/').map(|(above, _)| above)
    })
    .take(MAX_ABOVE)
}

/// A file that is text. One that is too long is cut, so that the guest refuses it.
async fn read(files: &mut impl Files, path: &str) -> Option<Found> {
    let path = GuestPath::parse(path).ok()?;
    let read = files.read(&path, 0, MAX_BYTES).await.ok()?;
    let text = String::from_utf8(read.bytes).ok()?;
    let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    Some(Found { text, folder })
}
