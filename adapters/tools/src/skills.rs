//! Skills: folders of instructions, scripts and data, which every new sandbox sees read-only (requirements S0-34, S2-27).
//!
//! A skill is `NAME/SKILL.md` and what lies beside it. Callers are told its name, its place and the beginning of its SKILL.md;
//! everything else is read in the sandbox, or run there without being read (S2-28).

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use dormouse_core::sandbox::SpecMount;
use dormouse_core::{Access, Error, ErrorCode, Grants, GuestPath, Mount, Result};

use crate::spec::answer;

/// The folders in which a sandbox sees skills.
const PLACES: [&str; 2] = ["/skills", "/workspace/skills"];
/// The file that makes a folder a skill.
const MAIN: &str = "SKILL.md";
/// Bytes of SKILL.md that are looked at (64 KiB).
const MAX_MAIN: u64 = 64 << 10;
/// Bytes of its beginning that are told (1 KiB).
const MAX_ABOUT: usize = 1 << 10;
/// Longest name, in bytes, and most skills.
const MAX_NAME: usize = 64;
const MAX_SKILLS: usize = 200;

/// One skill.
#[derive(Clone, Debug)]
struct Skill {
    name: String,
    /// The beginning of its SKILL.md.
    about: String,
    source: PathBuf,
}

/// The skills that new sandboxes see. The default is none.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    all: Vec<Skill>,
}

impl Skills {
    /// Adds a folder that is one skill, by the folder's name.
    ///
    /// # Errors
    /// `path_denied` when it cannot be read or has no SKILL.md within it; `args_invalid` for a name that is not letters,
    /// digits, `-` and `_`, that is longer than 64 bytes or taken, and past 200 skills.
    pub fn add(&mut self, folder: &Path) -> Result<()> {
        let source =
            folder.canonicalize().map_err(|error| refused(folder, "cannot be read").with_source(error))?;
        let name = source.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        check_name(&name)?;
        if let Some(other) = self.all.iter().find(|other| other.name == name) {
            let message = format!(
                "there are two skills `{name}`: `{}` and `{}`",
                other.source.display(),
                source.display()
            );
            return Err(Error::args_invalid(message).with_hint("rename one of the folders, or leave it out"));
        }
        if self.all.len() >= MAX_SKILLS {
            return Err(Error::args_invalid(format!("there are more than {MAX_SKILLS} skills")));
        }
        let main = main_of(&source).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "is not a skill: it has no SKILL.md",
                _ => "is not a skill: its SKILL.md cannot be read, or leads out of the folder",
            };
            refused(&source, why).with_source(error)
        })?;
        self.all.push(Skill { about: about(&main), name, source });
        self.all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// Adds every folder in a folder that has a SKILL.md.
    ///
    /// # Errors
    /// As [`Skills::add`]; `path_denied` when none of them has one.
    pub fn add_all(&mut self, folder: &Path) -> Result<()> {
        let failed = |error: io::Error| refused(folder, "cannot be read").with_source(error);
        let before = self.all.len();
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.join(MAIN).symlink_metadata().is_ok() {
                found.push(path);
            }
        }
        found.sort();
        found.iter().try_for_each(|path| self.add(path))?;
        if self.all.len() == before {
            return Err(refused(folder, "contains no skills: no folder in it has a SKILL.md"));
        }
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The grants, and the mounts of every skill in each of its places.
    ///
    /// # Errors
    /// `args_invalid` when another mount has such a place.
    pub fn granted(&self, grants: &Grants) -> Result<Grants> {
        let mut grants = grants.clone();
        for skill in &self.all {
            for place in PLACES {
                let target = GuestPath::parse(&format!("{place}/{}", skill.name))?;
                let access = Access::ReadOnly;
                grants.mounts.push(Mount { source: skill.source.clone(), target, access });
            }
        }
        grants.check().map(|()| grants)
    }

    /// All of them, as callers are told.
    pub(crate) fn shown(&self) -> Vec<SkillShown> {
        self.all.iter().map(Skill::shown).collect()
    }

    /// Those that a sandbox sees.
    pub(crate) fn shown_of(&self, mounts: &[SpecMount]) -> Vec<SkillShown> {
        let is_there = |skill: &&Skill| mounts.iter().any(|mount| mount.target.as_str() == skill.path());
        self.all.iter().filter(is_there).map(Skill::shown).collect()
    }
}

/// Whether a sandbox would see a skill there.
pub(crate) fn is_place(target: &str) -> bool {
    let below = |place: &str| target.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
    PLACES.into_iter().any(below)
}

impl Skill {
    fn path(&self) -> String {
        format!("{}/{}", PLACES[0], self.name)
    }

    fn shown(&self) -> SkillShown {
        SkillShown { name: self.name.clone(), path: self.path(), description: self.about.clone() }
    }
}

/// What the list of skills of an answer is.
pub(crate) const EVERY: &str = "Skills that every new sandbox sees, read-only.";

answer! {
    /// A skill, as callers are told.
    pub(crate) struct SkillShown {
        name: String = "Its name.",
        path: String = "Its folder in the sandbox; read SKILL.md there before using it.",
        description: String = "What it is for, as its SKILL.md begins.",
    }
}

fn refused(folder: &Path, why: &str) -> Error {
    Error::new(ErrorCode::PathDenied, format!("the folder `{}` {why}", folder.display()))
        .with_hint("a skill is a folder with a file SKILL.md")
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty()
        || name.len() > MAX_NAME
        || !name.chars().all(plain)
        || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
    {
        let shown: String = name.escape_debug().take(MAX_NAME).collect();
        return Err(Error::args_invalid(format!("`{shown}` is not a valid name of a skill"))
            .with_hint("name the folder with at most 64 letters, digits, `-` and `_`"));
    }
    Ok(())
}

/// The beginning of SKILL.md. Nothing outside the folder is read, whatever links say.
fn main_of(folder: &Path) -> io::Result<String> {
    let folder = Dir::open_ambient_dir(folder, ambient_authority())?;
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    options.read(true).custom_flags(i32::try_from(flags).unwrap_or_default());
    let file = folder.open_with(MAIN, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.into_std().take(MAX_MAIN).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What SKILL.md says the skill is: the description of its front matter, else its first paragraph.
fn about(main: &str) -> String {
    let main = main.trim_start_matches('\u{feff}');
    let (matter, body) = match main.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---")) {
        Some((matter, body)) => (matter, body.split_once('\n').map_or("", |(_, body)| body)),
        None => ("", main),
    };
    let text = description(matter).filter(|text| !text.is_empty()).unwrap_or_else(|| paragraph(body));
    text[..text.floor_char_boundary(MAX_ABOUT.min(text.len()))].to_owned()
}

/// The value of `description:` in front matter: on its line, quoted or not, and on the deeper lines after it.
fn description(matter: &str) -> Option<String> {
    let mut lines = matter.lines().skip_while(|line| !line.starts_with("description:"));
    let first = lines.next()?.strip_prefix("description:")?.trim();
    let first = if matches!(first, ">" | "|" | ">-" | "|-" | ">+" | "|+") { "" } else { first };
    let more = lines.take_while(|line| line.starts_with([' ', '\t']) || line.is_empty()).map(str::trim);
    let whole: Vec<&str> = std::iter::once(first).chain(more).filter(|line| !line.is_empty()).collect();
    let whole = whole.join(" ");
    for quote in ['"', '\''] {
        let inner = whole.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return Some(inner.replace(&format!("\\{quote}"), &quote.to_string()));
        }
    }
    Some(whole)
}

/// The first paragraph that is no heading, else the first heading.
fn paragraph(body: &str) -> String {
    let mut paragraphs = body.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
    let first = paragraphs.clone().find(|text| !text.starts_with('#'));
    first.or_else(|| paragraphs.next()).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
