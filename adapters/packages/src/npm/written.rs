//! `package-lock.json` as npm writes it, in its version 3: from the `package.json`, what lies in the tree, and the lock file before.
//!
//! Addresses are left out, but for those that the file had before: whoever reads it asks the registry that is theirs.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use dormouse_core::packages::{Group, LockRequest, LockText, Placed, listed};
use dormouse_core::{Error, ErrorCode, Result};
use nodejs_semver::Version;
use serde_json::{Map, Value as Json, json};

use super::lock::{Tie, entries, ties};
use super::spec::{Spec, Versions};
use super::tree::{above, joined};

/// What it takes of a `package.json`.
const META: [&str; 14] = [
    "version",
    "dependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "optionalDependencies",
    "bundleDependencies",
    "engines",
    "os",
    "cpu",
    "libc",
    "license",
    "funding",
    "bin",
    "hasInstallScript",
];
/// What is found anew for each package.
const FLAGS: [&str; 6] = ["extraneous", "peer", "dev", "optional", "devOptional", "inBundle"];
/// Keys that stand first, in this order.
const FIRST: [&str; 8] =
    ["name", "version", "lockfileVersion", "resolved", "integrity", "requires", "packages", "dependencies"];
/// Signs in the order of the Unicode collation that npm sorts by; digits and letters come after them.
const SIGNS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
/// Longest reason for which a package should not be used, in letters.
const MAX_REASON: usize = 1_000;

/// The lock file of what lies in a tree.
///
/// # Errors
/// `args_invalid` when the `package.json` is none.
pub(crate) fn write(request: &LockRequest) -> Result<LockText> {
    let root: Json = serde_json::from_str(request.manifest.trim_start_matches('\u{feff}'))
        .map_err(|error| Error::args_invalid(format!("`package.json` is not JSON: line {}", error.line())))?;
    let before = match request.before.as_deref().map(entries).transpose() {
        Ok(before) => before.unwrap_or_default(),
        Err(error) if error.code() == ErrorCode::CapabilityUnavailable => {
            return Ok(unwritten(error.message()));
        }
        Err(error) => return Err(error),
    };
    let newest_form = request.before.as_deref().is_some_and(|text| text.contains("\"packages\""));
    let before: BTreeMap<String, Json> =
        before.into_iter().map(|entry| (entry.locked.path, entry.about)).collect();
    let mut nodes: BTreeMap<String, Map<String, Json>> = BTreeMap::new();
    for placed in &request.placed {
        if let Some(entry) = entry(placed, before.get(&placed.path), newest_form) {
            nodes.insert(placed.path.clone(), entry);
        }
    }
    let there: BTreeSet<String> = nodes.keys().cloned().collect();
    for (path, about) in before.iter().filter(|_| newest_form) {
        // What is not here on purpose.
        let left_out = FLAGS.iter().any(|flag| about[*flag] == true);
        if let (true, Json::Object(about)) = (left_out && !nodes.contains_key(path), about) {
            nodes.insert(path.clone(), about.clone());
        }
    }
    let flags: BTreeMap<String, Flags> =
        Walk::of(&root, &nodes).into_iter().map(|(path, flags)| (path.to_owned(), flags)).collect();
    let mut extraneous = Vec::new();
    let mut packages = vec![(String::new(), of_root(&root, &request.folder))];
    let bundled = bundled(&nodes);
    for (path, mut entry) in nodes {
        let flags = flags.get(path.as_str()).copied().unwrap_or(Flags::ALL);
        entry.retain(|name, _| !FLAGS.contains(&name.as_str()));
        if flags.extraneous {
            if there.contains(&path) && !bundled.contains(&path) {
                extraneous.push(path);
            }
            continue;
        }
        if bundled.contains(&path) {
            entry.insert("inBundle".into(), true.into());
            entry.remove("integrity");
        }
        for (name, set) in flags.named() {
            if set {
                entry.insert(name.into(), true.into());
            }
        }
        packages.push((path, entry));
    }
    if let Some(why) = unlike(&request.manifest, &packages)? {
        return Ok(LockText { extraneous, ..unwritten(&why) });
    }
    packages.sort_by(|a, b| collated(&a.0, &b.0));
    let packages: Map<String, Json> =
        packages.into_iter().map(|(path, entry)| (path, ordered(entry))).collect();
    let mut whole = Map::new();
    let own = |field: &str| root[field].as_str().filter(|text| !text.is_empty()).map(Json::from);
    whole.insert("name".into(), own("name").unwrap_or_else(|| request.folder.as_str().into()));
    if let Some(version) = own("version") {
        whole.insert("version".into(), version);
    }
    whole.insert("lockfileVersion".into(), 3.into());
    whole.insert("requires".into(), true.into());
    whole.insert("packages".into(), packages.into());
    let text = serde_json::to_string_pretty(&whole)
        .map_err(|error| Error::internal("a lock file cannot be written", error))?;
    Ok(LockText { text: Some(format!("{text}\n")), extraneous, notes: Vec::new() })
}

fn unwritten(why: &str) -> LockText {
    LockText { notes: vec![format!("no lock file was written: {why}")], ..LockText::default() }
}

/// What stands of a package; none for what is no package.
fn entry(placed: &Placed, before: Option<&Json>, newest_form: bool) -> Option<Map<String, Json>> {
    let version = placed.about["version"].as_str()?;
    let before = before.filter(|before| before["version"] == version);
    let hash = placed.integrity.as_deref().map(Json::from);
    let known = before.map(|before| before["integrity"].clone()).filter(|hash| !hash.is_null());
    let same = hash.is_none() || known.is_none() || hash == known;
    if let (Some(Json::Object(before)), true, true) = (before, newest_form, same) {
        return Some(before.clone());
    }
    let mut found = meta(&placed.about, &placed.path);
    if let Some(hash) = hash.or(known) {
        found.insert("integrity".into(), hash);
    }
    if let Some(why) = &placed.deprecated {
        let why: String = why.chars().filter(|letter| !letter.is_control()).take(MAX_REASON).collect();
        found.insert("deprecated".into(), why.into());
    }
    let folder = placed.path.rsplit("node_modules/").next().unwrap_or_default();
    if let Some(name) = placed.about["name"].as_str().filter(|name| *name != folder) {
        found.insert("name".into(), name.into());
    }
    Some(found)
}

/// What it says of a `package.json`.
fn meta(about: &Json, path: &str) -> Map<String, Json> {
    let mut found = Map::new();
    for field in META {
        let value = match (field, &about[field]) {
            ("bundleDependencies", Json::Null) => about["bundledDependencies"].clone(),
            ("license", Json::Object(license)) => license.get("type").cloned().unwrap_or_default(),
            ("funding", Json::String(url)) => json!({"url": url}),
            ("os" | "cpu" | "libc", Json::String(one)) => json!([one]),
            ("bin", Json::String(target)) => {
                let folder = path.rsplit("node_modules/").next().unwrap_or_default();
                let name = about["name"].as_str().unwrap_or(folder);
                json!({name.rsplit('/').next().unwrap_or(name): program(target)})
            }
            ("bin", Json::Object(named)) => {
                let named = named.iter().filter_map(|(name, target)| {
                    Some((name.rsplit('/').next()?.to_owned(), program(target.as_str()?).into()))
                });
                Json::Object(named.collect())
            }
            ("hasInstallScript", _) => has_scripts(about).into(),
            (_, value) => value.clone(),
        };
        let empty = match &value {
            Json::Null | Json::Bool(false) => true,
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !empty {
            found.insert(field.into(), value);
        }
    }
    found
}

fn program(target: &str) -> &str {
    target.trim_start_matches("./")
}

fn has_scripts(about: &Json) -> bool {
    let scripts = ["preinstall", "install", "postinstall"];
    about["hasInstallScript"] == true || scripts.iter().any(|script| about["scripts"][script].is_string())
}

/// The project itself.
fn of_root(root: &Json, folder: &str) -> Map<String, Json> {
    let mut found = meta(root, folder);
    if let Some(name) = root["name"].as_str() {
        found.insert("name".into(), name.into());
    }
    if let Some(Json::Object(dev)) = root.get(Group::Dev.field()).filter(|dev| **dev != json!({})) {
        found.insert(Group::Dev.field().into(), dev.clone().into());
    }
    found
}

/// What the `package.json` asks for and the packages do not have.
fn unlike(manifest: &str, packages: &[(String, Map<String, Json>)]) -> Result<Option<String>> {
    for (group, text) in listed(manifest)? {
        let spec = Spec::parse(&text)?;
        let path = joined("", &spec.name);
        let found = packages.iter().find(|(at, _)| *at == path);
        let version = found.and_then(|(_, entry)| entry.get("version")?.as_str());
        match version.and_then(|version| Version::parse(version).ok()) {
            None if group == Group::Optional => {}
            None => return Ok(Some(format!("`{text}` of `package.json` is not there"))),
            Some(version) if matches!(spec.versions, Versions::Range(_)) && !spec.takes(&version) => {
                return Ok(Some(format!(
                    "`{}` is there in {version}, and not as `{}`",
                    spec.name, spec.text
                )));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Packages that came in the archive of the one above them.
fn bundled(nodes: &BTreeMap<String, Map<String, Json>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let holds = |entry: &Map<String, Json>, name: &str| match entry.get("bundleDependencies") {
        Some(Json::Bool(all)) => *all,
        Some(Json::Array(names)) => names.iter().any(|bundled| bundled == name),
        _ => false,
    };
    loop {
        let before = found.len();
        for path in nodes.keys() {
            let folder = above(path);
            let name = path.rsplit("node_modules/").next().unwrap_or_default();
            let Some(parent) = nodes.get(folder) else { continue };
            // What came with it can need something that came with it too.
            let beside = found.iter().any(|other: &String| {
                above(other) == folder
                    && nodes.get(other).is_some_and(|entry| {
                        ties(&Json::Object(entry.clone())).iter().any(|(_, needed, _)| needed == name)
                    })
            });
            if holds(parent, name) || beside || found.contains(folder) {
                found.insert(path.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Why a package is there: each holds until something is found that needs it in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags {
    extraneous: bool,
    dev: bool,
    optional: bool,
    dev_optional: bool,
    peer: bool,
}

impl Flags {
    const ALL: Self = Self { extraneous: true, dev: true, optional: true, dev_optional: true, peer: true };
    const NONE: Self =
        Self { extraneous: false, dev: false, optional: false, dev_optional: false, peer: false };

    /// As a lock file names them.
    fn named(self) -> [(&'static str, bool); 4] {
        let both = self.dev_optional && !self.dev && !self.optional;
        [("peer", self.peer), ("dev", self.dev), ("optional", self.optional), ("devOptional", both)]
    }

    /// What is left of them when one with `from` needs this in this way.
    fn needed(self, from: Self, tie: Tie, dev: bool) -> Self {
        let optional = matches!(tie, Tie::Optional | Tie::OptionalPeer);
        let peer = matches!(tie, Tie::Peer | Tie::OptionalPeer);
        Self {
            extraneous: self.extraneous && (from.extraneous || tie == Tie::OptionalPeer),
            dev: self.dev && (from.dev || dev),
            optional: self.optional && (from.optional || optional),
            dev_optional: self.dev_optional
                && (from.dev_optional || from.dev || from.optional || dev || optional),
            peer: self.peer && (from.peer || peer),
        }
    }
}

/// A walk over all that is needed, as npm finds why a package is there.
struct Walk<'a> {
    nodes: &'a BTreeMap<String, Map<String, Json>>,
    flags: BTreeMap<&'a str, Flags>,
}

impl<'a> Walk<'a> {
    fn of(root: &Json, nodes: &'a BTreeMap<String, Map<String, Json>>) -> BTreeMap<&'a str, Flags> {
        let flags = nodes.keys().map(|path| (path.as_str(), Flags::ALL)).collect();
        let mut walk = Self { nodes, flags };
        let mut ways: BTreeMap<String, (Tie, bool)> =
            ties(root).into_iter().map(|(tie, name, _)| (name, (tie, false))).collect();
        let dev = root[Group::Dev.field()].as_object().into_iter().flatten();
        ways.extend(dev.map(|(name, _)| (name.clone(), (Tie::Required, true))));
        let mut left = Vec::new();
        for (name, (tie, dev)) in ways {
            left.extend(walk.step("", Flags::NONE, &name, tie, dev));
        }
        while let Some(path) = left.pop() {
            let (Some(entry), Some(flags)) = (nodes.get(path), walk.flags.get(path).copied()) else {
                continue;
            };
            for (tie, name, _) in ties(&Json::Object(entry.clone())) {
                left.extend(walk.step(path, flags, &name, tie, false));
            }
        }
        walk.flags
    }

    /// Follows one need; answers with what was found, if it is needed in a new way.
    fn step(&mut self, from: &str, flags: Flags, name: &str, tie: Tie, dev: bool) -> Option<&'a str> {
        let mut at = from;
        let path = loop {
            if let Some((path, _)) = self.nodes.get_key_value(&joined(at, name)) {
                break path.as_str();
            }
            if at.is_empty() {
                return None;
            }
            at = above(at);
        };
        let now = self.flags.get_mut(path)?;
        let next = now.needed(flags, tie, dev);
        (std::mem::replace(now, next) != next).then_some(path)
    }
}

/// An object with its keys in npm's order, at every depth.
fn ordered(fields: Map<String, Json>) -> Json {
    let mut fields: Vec<(String, Json)> = fields
        .into_iter()
        .map(|(name, value)| match value {
            Json::Object(inner) => (name, ordered(inner)),
            value => (name, value),
        })
        .collect();
    let first = |name: &str| FIRST.iter().position(|known| *known == name).unwrap_or(FIRST.len());
    fields.sort_by(|(a, one), (b, other)| {
        one.is_object().cmp(&other.is_object()).then(first(a).cmp(&first(b))).then_with(|| collated(a, b))
    });
    Json::Object(fields.into_iter().collect())
}

/// The order of two names as npm has it: of letters first, capitals after small ones where all else is the same.
fn collated(a: &str, b: &str) -> Ordering {
    let weight = |letter: char| match SIGNS.find(letter) {
        Some(at) => (0, at as u64),
        None => (1, u64::from(u32::from(letter.to_ascii_lowercase()))),
    };
    let plain = a.chars().map(weight).cmp(b.chars().map(weight));
    plain.then_with(|| b.cmp(a))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha512};

    use super::*;

    fn hash(path: &str) -> String {
        format!("sha512-{}", STANDARD.encode(Sha512::digest(path)))
    }

    fn placed(path: &str, mut about: Json) -> Placed {
        about["version"] = "1.0.0".into();
        Placed::new(path.into(), about, Some(hash(path)), None)
    }

    fn lock(manifest: &Json, before: Option<&str>, placed: Vec<Placed>) -> LockText {
        let (manifest, before) = (manifest.to_string(), before.map(str::to_owned));
        write(&LockRequest { folder: "here".into(), manifest, before, placed }).unwrap()
    }

    #[test]
    fn flags_say_why_a_package_is_there() {
        let manifest = json!({
            "dependencies": {"a": "^1"}, "devDependencies": {"d": "^1"}, "optionalDependencies": {"o": "^1"},
        });
        let needs = |names: &[&str]| {
            let names: Map<String, Json> =
                names.iter().map(|name| ((*name).to_owned(), "^1".into())).collect();
            json!({"dependencies": names})
        };
        let all = vec![
            placed("node_modules/a", json!({"peerDependencies": {"p": "*"}, "dependencies": {"both": "*"}})),
            placed("node_modules/both", json!({})),
            placed("node_modules/d", needs(&["both", "only-d", "d-or-o"])),
            placed("node_modules/d-or-o", json!({})),
            placed("node_modules/o", needs(&["d-or-o", "only-o"])),
            placed("node_modules/only-d", json!({})),
            placed("node_modules/only-o", json!({})),
            placed("node_modules/p", json!({})),
            placed("node_modules/stray", json!({})),
        ];
        let made = lock(&manifest, None, all);
        assert_eq!(made.extraneous, ["node_modules/stray"]);
        let text = made.text.unwrap();
        let parsed: Json = serde_json::from_str(&text).unwrap();
        for (name, flag) in [
            ("a", None),
            ("both", None),
            ("d", Some("dev")),
            ("only-d", Some("dev")),
            ("d-or-o", Some("devOptional")),
            ("o", Some("optional")),
            ("only-o", Some("optional")),
            ("p", Some("peer")),
        ] {
            let entry = &parsed["packages"][format!("node_modules/{name}")];
            let set: Vec<&str> = FLAGS.into_iter().filter(|flag| entry[*flag] == true).collect();
            assert_eq!(set, flag.into_iter().collect::<Vec<_>>(), "{name}");
        }
        assert!(parsed["packages"]["node_modules/stray"].is_null());
        assert_eq!(
            (&parsed["name"], &parsed["lockfileVersion"], &parsed["requires"]),
            (&json!("here"), &json!(3), &json!(true))
        );
        // What was left out stays named, and the rest of an entry as it was.
        let own = format!("\"{}\"", hash("node_modules/o"));
        let before = text.replace(&own, &format!("{own}, \"resolved\": \"https://h/o.tgz\""));
        let rest = vec![placed("node_modules/a", json!({})), placed("node_modules/p", json!({}))];
        let again: Json = serde_json::from_str(&lock(&manifest, Some(&before), rest).text.unwrap()).unwrap();
        assert_eq!(again["packages"]["node_modules/o"]["resolved"], "https://h/o.tgz");
        assert!(again["packages"]["node_modules/both"].is_null(), "only what is not here on purpose stays");
    }

    #[test]
    fn what_a_manifest_asks_for_and_nobody_has_is_no_lock_file() {
        let made =
            lock(&json!({"dependencies": {"a": "^2"}}), None, vec![placed("node_modules/a", json!({}))]);
        assert!(
            made.text.is_none() && made.notes[0].contains("`a` is there in 1.0.0, and not as `^2`"),
            "{made:?}"
        );
        let made = lock(&json!({"devDependencies": {"d": "1"}}), None, Vec::new());
        assert!(
            made.text.is_none() && made.notes[0].contains("`d@1` of `package.json` is not there"),
            "{made:?}"
        );
        assert!(lock(&json!({"optionalDependencies": {"o": "1"}}), None, Vec::new()).text.is_some());
    }

    #[test]
    fn what_comes_in_an_archive_says_so() {
        let app = json!({"bundleDependencies": ["in"], "dependencies": {"in": "1", "out": "1"}});
        let made = lock(
            &json!({"dependencies": {"app": "1"}}),
            None,
            vec![
                placed("node_modules/app", app),
                placed("node_modules/app/node_modules/in", json!({"dependencies": {"too": "1"}})),
                placed("node_modules/app/node_modules/out", json!({})),
                placed("node_modules/app/node_modules/too", json!({})),
            ],
        );
        let parsed: Json = serde_json::from_str(&made.text.unwrap()).unwrap();
        for (name, inside) in [("in", true), ("too", true), ("out", false)] {
            let entry = &parsed["packages"][format!("node_modules/app/node_modules/{name}")];
            assert_eq!((entry["inBundle"] == true, entry["integrity"].is_null()), (inside, inside), "{name}");
        }
    }

    #[test]
    fn names_are_sorted_as_npm_sorts_them() {
        let mut names = ["b", "@a/b", "a/node_modules/c", "a-b", "a", "B", "_c", "a.b"];
        names.sort_by(|a, b| collated(a, b));
        assert_eq!(names, ["_c", "@a/b", "a", "a-b", "a.b", "a/node_modules/c", "b", "B"]);
        let wanted = ["version", "integrity", "bin", "z"];
        let fields = json!({"z": {}, "bin": {}, "integrity": "", "version": ""});
        let Json::Object(fields) = fields else { panic!() };
        let found = ordered(fields);
        assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), wanted);
    }
}
