//! A wheel's files as they lie below the prefix.

use dormouse_core::packages::{Package, PackageFile, site_packages};
use dormouse_core::{Error, ErrorCode, Result};
use pep440_rs::Version;
use pep508_rs::PackageName;

use super::local::Origin;
use crate::archive::{self, Unpacked};
use crate::digest::{hex, record};

/// What is laid out.
pub(crate) struct Plan {
    pub(crate) name: PackageName,
    pub(crate) version: Version,
    pub(crate) filename: String,
    pub(crate) python: String,
    /// Where it lies in the sandbox itself.
    pub(crate) origin: Option<Origin>,
    /// Whether the user named it.
    pub(crate) asked: bool,
}

/// Unpacks a wheel and places its files, with programs for its entry points and a `RECORD` of what was placed.
pub(crate) fn lay_out(plan: &Plan, packed: &[u8], room: u64) -> Result<Package> {
    let unpacked = archive::wheel(&plan.filename, packed, room)?;
    let info = info_folder(plan, &unpacked)?;
    check_format(plan, &info, &unpacked)?;
    let site = site_packages(&plan.python);
    let data = format!("{}.data/", info.trim_end_matches(".dist-info"));
    let programs = entry_points(&info, &unpacked);
    let mut files: Vec<PackageFile> = Vec::new();
    for file in unpacked {
        let of_record =
            [format!("{info}/RECORD"), format!("{info}/RECORD.jws"), format!("{info}/RECORD.p7s")];
        if of_record.contains(&file.path) {
            continue;
        }
        files.extend(placed(file, &site, &data));
    }
    for (name, text) in programs {
        let path = format!("bin/{name}");
        files.retain(|file| file.path != path);
        files.push(PackageFile { path, bytes: text.into_bytes(), executable: true });
    }
    let mut note = |name: &str, bytes: &[u8]| {
        let path = format!("{site}/{info}/{name}");
        files.retain(|file| file.path != path);
        files.push(PackageFile { path, bytes: bytes.to_vec(), executable: false });
    };
    note("INSTALLER", b"dormouse\n");
    if plan.asked {
        note("REQUESTED", b"");
    }
    if let Some(origin) = &plan.origin {
        note("direct_url.json", origin.direct_url().as_bytes());
        point(&mut files, origin, &site);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if let Some(twice) = files.windows(2).find(|pair| pair[0].path == pair[1].path) {
        return Err(refused(plan, &format!("places `{}` twice", twice[0].path)));
    }
    let path = format!("{site}/{info}");
    let list = record_of(&files, &site, &info);
    files.push(PackageFile { path: format!("{path}/RECORD"), bytes: list.into_bytes(), executable: false });
    let (name, version) = (plan.name.to_string(), plan.version.to_string());
    Ok(Package { name, version, path, sha256: hex(packed), files })
}

/// Has what leads to the modules of an editable package lead to where they lie.
fn point(files: &mut [PackageFile], origin: &Origin, site: &str) {
    let leads = |path: &str| {
        let name = path.strip_prefix(site).and_then(|path| path.strip_prefix('/'));
        name.is_some_and(|name| {
            !name.contains('/') && (name.ends_with(".pth") || name.starts_with("__editable__"))
        })
    };
    for file in files.iter_mut().filter(|file| origin.editable && leads(&file.path)) {
        if let Some(bytes) = origin.moved(&file.bytes) {
            file.bytes = bytes;
        }
    }
}

/// The one folder that describes the wheel.
fn info_folder(plan: &Plan, files: &[Unpacked]) -> Result<String> {
    let mut folders: Vec<&str> = files
        .iter()
        .filter_map(|file| file.path.split_once('/'))
        .map(|(folder, _)| folder)
        .filter(|folder| folder.ends_with(".dist-info"))
        .collect();
    folders.dedup();
    folders.sort_unstable();
    folders.dedup();
    let [folder] = folders[..] else { return Err(refused(plan, "does not have one `.dist-info` folder")) };
    let own = folder.trim_end_matches(".dist-info").split_once('-').is_some_and(|(name, version)| {
        name.parse::<PackageName>().is_ok_and(|name| name == plan.name)
            && version.parse::<Version>().is_ok_and(|version| version == plan.version)
    });
    if own { Ok(folder.to_owned()) } else { Err(refused(plan, "describes another package")) }
}

fn check_format(plan: &Plan, info: &str, files: &[Unpacked]) -> Result<()> {
    let find = |name: &str| files.iter().find(|file| file.path == format!("{info}/{name}"));
    if find("METADATA").is_none() {
        return Err(refused(plan, "has no METADATA"));
    }
    let about =
        find("WHEEL").map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
    let version = about.lines().find_map(|line| line.strip_prefix("Wheel-Version:")).map(str::trim);
    if version.is_some_and(|version| version.starts_with("1.")) {
        return Ok(());
    }
    Err(refused(plan, "is no wheel of version 1"))
}

/// Where a file goes. Headers of C go nowhere.
fn placed(file: Unpacked, site: &str, data: &str) -> Option<PackageFile> {
    let Unpacked { path, bytes, executable } = file;
    let Some(below) = path.strip_prefix(data) else {
        return Some(PackageFile { path: format!("{site}/{path}"), bytes, executable });
    };
    let (scheme, below) = below.split_once('/')?;
    match scheme {
        "purelib" | "platlib" => Some(PackageFile { path: format!("{site}/{below}"), bytes, executable }),
        "data" => Some(PackageFile { path: below.to_owned(), bytes, executable }),
        "scripts" => {
            Some(PackageFile { path: format!("bin/{below}"), bytes: script(bytes), executable: true })
        }
        _ => None,
    }
}

/// A script whose first line stands for any Python gets that of the sandbox.
fn script(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(b"#!python") {
        return bytes;
    }
    let rest = bytes.iter().position(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[end..]);
    [b"#!/usr/bin/env python3", rest].concat()
}

/// The programs that call into the package, by name.
fn entry_points(info: &str, files: &[Unpacked]) -> Vec<(String, String)> {
    let Some(file) = files.iter().find(|file| file.path == format!("{info}/entry_points.txt")) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&file.bytes);
    let (mut section, mut found) = ("", Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim();
        } else if ["console_scripts", "gui_scripts"].contains(&section)
            && let Some((name, target)) = line.split_once('=')
            && let Some(text) = program(target)
            && plain(name.trim())
        {
            found.push((name.trim().to_owned(), text));
        }
    }
    found
}

fn program(target: &str) -> Option<String> {
    let target = target.split('[').next()?.trim();
    let (module, object) = target.split_once(':')?;
    let (module, object) = (module.trim(), object.trim());
    let dotted = |text: &str| {
        text.split('.').all(|part| {
            part.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
                && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        })
    };
    let first = object.split('.').next()?;
    (dotted(module) && dotted(object)).then(|| {
        format!(
            "#!/usr/bin/env python3\nimport sys\n\nfrom {module} import {first}\n\n\
             if __name__ == \"__main__\":\n    sys.exit({object}())\n"
        )
    })
}

fn plain(name: &str) -> bool {
    let letters = name.chars().all(|letter| letter.is_alphanumeric() || "-_.+".contains(letter));
    letters && !name.is_empty() && name.len() <= 128 && !name.starts_with('.')
}

/// Every file with its hash and size, as paths from the folder of modules.
fn record_of(files: &[PackageFile], site: &str, info: &str) -> String {
    let up = "../".repeat(site.split('/').count());
    let mut text = String::new();
    for file in files {
        let path = match file.path.strip_prefix(&format!("{site}/")) {
            Some(below) => below.to_owned(),
            None => format!("{up}{}", file.path),
        };
        let (hash, size) = (record(&file.bytes), file.bytes.len());
        text.push_str(&format!("{},{hash},{size}\n", quoted(&path)));
    }
    text.push_str(&format!("{},,\n", quoted(&format!("{info}/RECORD"))));
    text
}

pub(super) fn quoted(path: &str) -> String {
    if path.contains([',', '"']) { format!("\"{}\"", path.replace('"', "\"\"")) } else { path.to_owned() }
}

fn refused(plan: &Plan, why: &str) -> Error {
    Error::new(ErrorCode::PackageRefused, format!("`{}` {why}", plan.filename))
        .with_hint("nothing was installed; request another version")
}
