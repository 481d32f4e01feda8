//! Reading a source's arguments: each value has its type, and no key is unknown (S0-30).

use std::collections::HashSet;
use std::path::PathBuf;

use dormouse_core::{Access, Error, GuestPath, Result};
use serde_json::{Map, Value as Json};

/// Longest text, in bytes.
const MAX_TEXT: usize = 4_096;
/// Most variables and mounts, and the longest value of a variable, in bytes.
const MAX_ENTRIES: usize = 256;
const MAX_VALUE: usize = 64 << 10;

/// One argument of a source, as documents tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its key.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What holds without it.
    pub default: &'static str,
}

impl Argument {
    /// A Markdown table of them.
    pub fn table(arguments: &[Self]) -> String {
        let row = |Self { name, what, default }: &Self| format!("| `{name}` | {what} | {default} |\n");
        let rows: String = arguments.iter().map(row).collect();
        format!("| argument | what it is | default |\n| --- | --- | --- |\n{rows}")
    }
}

/// What every source says of its mounts.
pub(crate) const MOUNTS: Argument = Argument {
    name: "mounts",
    what: "folders of the host, at most 256: each `source` (absolute), `target` and `readonly` (false); which are allowed stands below",
    default: "none",
};

/// A folder of the host that is to be seen inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerMount {
    /// The folder on the host, absolute. Whether it may be mounted is for whoever mounts it to say.
    pub source: PathBuf,
    /// Where it is seen.
    pub target: GuestPath,
    /// What may be done there.
    pub access: Access,
}

/// The arguments of one entry.
pub(crate) struct Args<'a> {
    map: &'a Map<String, Json>,
    /// Templates are still in place: texts that hold one are not looked at.
    templates: bool,
}

impl<'a> Args<'a> {
    /// Refuses unknown keys.
    pub(crate) fn new(
        source: &str,
        known: &[Argument],
        map: &'a Map<String, Json>,
        templates: bool,
    ) -> Result<Self> {
        let known: Vec<&str> = known.iter().map(|argument| argument.name).collect();
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => Err(Error::args_invalid(format!(
                "the source `{source}` has no argument `{}`",
                shown(unknown)
            ))
            .with_hint(format!("its arguments are `{}`", known.join("`, `")))),
            None => Ok(Self { map, templates }),
        }
    }

    /// A text; none when it is left out or empty.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.map.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => Ok(Some(text(key, value, MAX_TEXT)?).filter(|text| !text.is_empty())),
        }
    }

    /// A flag; not set when it is left out.
    pub(crate) fn flag(&self, key: &str) -> Result<bool> {
        match self.map.get(key) {
            None | Some(Json::Null) => Ok(false),
            Some(Json::Bool(set)) => Ok(*set),
            Some(other) => {
                Err(wrong(key, "a flag", other).with_hint("write `true` or `false`, without quotes"))
            }
        }
    }

    /// Whether what the text says cannot be judged yet.
    pub(crate) fn is_open(&self, text: &str) -> bool {
        self.templates && text.contains("{{")
    }

    /// An address or a name for git. It is never an option.
    pub(crate) fn word(&self, key: &str) -> Result<Option<&'a str>> {
        match self.text(key)? {
            Some(word) if word.starts_with('-') || word.chars().any(char::is_control) => {
                Err(Error::args_invalid(format!("the argument `{key}` cannot be `{}`", shown(word))))
            }
            word => Ok(word),
        }
    }

    /// A map; none when it is left out.
    pub(crate) fn map(&self, key: &str) -> Result<Option<&'a Map<String, Json>>> {
        match self.map.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Object(map)) if map.len() <= MAX_ENTRIES => Ok(Some(map)),
            Some(Json::Object(_)) => {
                Err(Error::args_invalid(format!("the argument `{key}` has more than {MAX_ENTRIES} entries")))
            }
            Some(other) => Err(wrong(key, "a map", other)),
        }
    }

    /// The map `env`, in its order.
    pub(crate) fn env(&self) -> Result<Vec<(String, String)>> {
        let variables = self.map("env")?.into_iter().flatten().map(|(name, value)| {
            let key = format!("env.{}", shown(name));
            if name.is_empty() || name.contains(|c: char| c == '=' || c.is_whitespace() || c.is_control()) {
                return Err(Error::args_invalid(format!("`{}` is no environment variable", shown(name)))
                    .with_hint("a name has no `=`, no spaces and no control characters"));
            }
            Ok((name.clone(), text(&key, value, MAX_VALUE)?.to_owned()))
        });
        variables.collect()
    }

    /// The list `mounts`. Where templates are in place, mounts that use them are left out.
    pub(crate) fn mounts(&self) -> Result<Vec<ContainerMount>> {
        let list = match self.map.get("mounts") {
            None | Some(Json::Null) => return Ok(Vec::new()),
            Some(Json::Array(list)) if list.len() <= MAX_ENTRIES => list,
            Some(Json::Array(_)) => {
                return Err(Error::args_invalid(format!("there are more than {MAX_ENTRIES} mounts")));
            }
            Some(other) => return Err(wrong("mounts", "a list", other)),
        };
        let (mut mounts, mut targets) = (Vec::new(), HashSet::new());
        for (at, mount) in list.iter().enumerate() {
            let Some(mount) = self.mount(at, mount)? else { continue };
            if !targets.insert(mount.target.clone()) {
                return Err(Error::args_invalid(format!("two mounts have the target `{}`", mount.target)));
            }
            mounts.push(mount);
        }
        Ok(mounts)
    }

    fn mount(&self, at: usize, mount: &Json) -> Result<Option<ContainerMount>> {
        let Json::Object(mount) = mount else { return Err(wrong(&format!("mounts.{at}"), "a map", mount)) };
        if let Some(key) = mount.keys().find(|key| !matches!(key.as_str(), "source" | "target" | "readonly"))
        {
            return Err(Error::args_invalid(format!("mounts.{at} has an unknown key `{}`", shown(key)))
                .with_hint("a mount has `source`, `target` and `readonly`"));
        }
        let part = |key: &str| {
            let name = format!("mounts.{at}.{key}");
            let value = mount.get(key).ok_or_else(|| missing(&name))?;
            text(&name, value, MAX_TEXT)
        };
        let (source, target) = (part("source")?, part("target")?);
        let access = match mount.get("readonly") {
            None | Some(Json::Bool(false)) => Access::ReadWrite,
            Some(Json::Bool(true)) => Access::ReadOnly,
            Some(other) => return Err(wrong(&format!("mounts.{at}.readonly"), "a flag", other)),
        };
        if self.is_open(source) || self.is_open(target) {
            return Ok(None);
        }
        if !source.starts_with('/') || source.contains('\0') {
            return Err(Error::args_invalid(format!("mounts.{at}.source is no absolute path"))
                .with_hint("name the folder of the host from the root on"));
        }
        let target = GuestPath::parse(target)?;
        if target.as_str() == "/" {
            return Err(Error::args_invalid(format!("mounts.{at}.target is `/`")));
        }
        Ok(Some(ContainerMount { source: source.into(), target, access }))
    }
}

pub(crate) fn missing(key: &str) -> Error {
    Error::args_invalid(format!("the argument `{key}` is missing"))
}

pub(crate) fn text<'a>(key: &str, value: &'a Json, most: usize) -> Result<&'a str> {
    match value {
        Json::String(text) if text.contains('\0') => {
            Err(Error::args_invalid(format!("the argument `{key}` holds a NUL byte")))
        }
        Json::String(text) if text.len() <= most => Ok(text),
        Json::String(_) => {
            Err(Error::args_invalid(format!("the argument `{key}` has more than {most} bytes")))
        }
        other => Err(wrong(key, "a text", other).with_hint("put quotes around numbers and flags")),
    }
}

fn wrong(key: &str, expected: &str, value: &Json) -> Error {
    let is = match value {
        Json::Null => "null",
        Json::Bool(_) => "a flag",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    };
    Error::args_invalid(format!("the argument `{key}` is {is}, not {expected}"))
}

fn shown(text: &str) -> String {
    text.escape_debug().take(64).collect()
}
