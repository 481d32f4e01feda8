//! The indexes that this machine's own pip and npm are configured with. Their files are read; the programs are not run.

use std::path::{Path, PathBuf};

use dormouse_core::Result;
use dormouse_core::packages::PackageManager;

use crate::Index;

/// Largest configuration file, in bytes.
const MAX: u64 = 1 << 20;

/// The index of the machine's own configuration, if it names one: for pip `PIP_INDEX_URL`, else `index-url` in the file
/// of `PIP_CONFIG_FILE`, `pip/pip.conf` of the configuration folder, `~/.pip/pip.conf` or `/etc/pip.conf`, else what uv is
/// told: `UV_DEFAULT_INDEX`, `UV_INDEX_URL`, the default index in the file of `UV_CONFIG_FILE`, `uv/uv.toml` of the configuration
/// folder or `/etc/uv/uv.toml`; for npm `NPM_CONFIG_REGISTRY`, else `registry` in `~/.npmrc` or `/etc/npmrc`, with that host's `_authToken`.
///
/// # Errors
/// `args_invalid` for an address that cannot be one.
pub fn system_index(manager: PackageManager) -> Result<Option<Index>> {
    match manager {
        PackageManager::Pip => {
            let files = (files(&pip_files()), files(&uv_files()));
            pip(&variable, &files.0, &files.1)
        }
        PackageManager::Npm => npm(&variable, &files(&npm_files())),
    }
}

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

fn pip(variable: Variable<'_>, texts: &[String], of_uv: &[String]) -> Result<Option<Index>> {
    let set = variable("PIP_INDEX_URL").or_else(|| texts.iter().find_map(|text| index_url(text)));
    // It may have a name in front: `internal=https://…`.
    let plain = |text: String| match text.split_once('=') {
        Some((name, url)) if !name.contains([':', '/']) => url.to_owned(),
        _ => text,
    };
    let set = set.or_else(|| variable("UV_DEFAULT_INDEX").map(plain)).or_else(|| variable("UV_INDEX_URL"));
    let set = set.or_else(|| of_uv.iter().find_map(|text| default_index(text)));
    set.map(|url| Index::parse(&url)).transpose()
}

/// `index-url` of the sections that hold for `install`.
fn index_url(text: &str) -> Option<String> {
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((name, value)) = line.split_once(['=', ':'])
            && ["global", "install"].contains(&section)
            && ["index-url", "index_url"].contains(&name.trim())
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

/// The index that a file of uv's names in the place of uv's own.
fn default_index(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let all = table.get("index").and_then(toml::Value::as_array).into_iter().flatten();
    let is_default = |index: &&toml::Value| index.get("default").and_then(toml::Value::as_bool) == Some(true);
    let url = all.filter(is_default).find_map(|index| index.get("url"));
    let url = url.or_else(|| table.get("index-url")).or_else(|| table.get("pip")?.get("index-url"));
    url?.as_str().map(str::to_owned)
}

fn npm(variable: Variable<'_>, texts: &[String]) -> Result<Option<Index>> {
    let named = |wanted: &str| texts.iter().find_map(|text| setting(text, wanted));
    let set = variable("NPM_CONFIG_REGISTRY").or_else(|| variable("npm_config_registry"));
    let Some(url) = set.or_else(|| named("registry")) else { return Ok(None) };
    let index = Index::parse(&url)?;
    let place = index.base.as_str().split_once(':').map_or("", |(_, place)| place);
    let token = named(&format!("{place}:_authToken"))
        .or_else(|| named(&format!("{}:_authToken", place.trim_end_matches('/'))));
    match token.map(|token| expanded(&token, variable)) {
        Some(token) if !token.is_empty() => index.with_token(&token).map(Some),
        _ => Ok(Some(index)),
    }
}

fn setting(text: &str, wanted: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let mut named = lines.filter_map(|line| line.split_once('='));
    named.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

/// `${NAME}` as the whole value is an environment variable.
fn expanded(value: &str, variable: Variable<'_>) -> String {
    match value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        Some(name) => variable(name).unwrap_or_default(),
        None => value.to_owned(),
    }
}

fn pip_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = variable("PIP_CONFIG_FILE").map(PathBuf::from).into_iter().collect();
    if let Some(home) = variable("HOME").map(PathBuf::from) {
        let folder = variable("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        files.extend([folder.join("pip/pip.conf"), home.join(".pip/pip.conf")]);
    }
    files.push("/etc/pip.conf".into());
    files
}

fn uv_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = variable("UV_CONFIG_FILE").map(PathBuf::from).into_iter().collect();
    let home = variable("HOME").map(|home| Path::new(&home).join(".config"));
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from).or(home);
    files.extend(folder.map(|folder| folder.join("uv/uv.toml")));
    files.push("/etc/uv/uv.toml".into());
    files
}

fn npm_files() -> Vec<PathBuf> {
    let home = variable("HOME").map(|home| Path::new(&home).join(".npmrc"));
    home.into_iter().chain([PathBuf::from("/etc/npmrc")]).collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The texts of those that can be read.
fn files(paths: &[PathBuf]) -> Vec<String> {
    let small =
        |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MAX);
    paths.iter().filter(small).filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pip_uv_and_npm_are_told_is_read() {
        let none = |_: &str| None;
        let text = "[list]\nindex-url = https://wrong.example\n[global]\ncert = x\nindex-url = https://a:b@p.example/s\n";
        let index = pip(&none, &[String::new(), text.into()], &[]).unwrap().unwrap();
        assert_eq!((index.base.as_str(), index.user.is_some()), ("https://p.example/s/", true));
        let set = |name: &str| (name == "PIP_INDEX_URL").then(|| "https://e.example/simple".to_owned());
        assert_eq!(pip(&set, &[text.into()], &[]).unwrap().unwrap().host(), "e.example");
        assert!(pip(&none, &[], &[]).unwrap().is_none());
        let uv = "index-url = 'https://old.example/s'\n[[index]]\nurl = 'https://more.example/s'\n[[index]]\nname = 'x'\nurl = 'https://uv.example/s'\ndefault = true\n";
        for (text, host) in [
            (uv, "uv.example"),
            ("index-url = 'https://old.example/s'", "old.example"),
            ("[pip]\nindex-url = 'https://pip.example/s'", "pip.example"),
        ] {
            assert_eq!(pip(&none, &[], &["[".into(), text.into()]).unwrap().unwrap().host(), host);
        }
        assert_eq!(pip(&none, &[text.into()], &[uv.into()]).unwrap().unwrap().host(), "p.example");
        let set = |name: &str| {
            (name == "UV_DEFAULT_INDEX").then(|| "own=https://u.example/s?".trim_end_matches('?').to_owned())
        };
        assert_eq!(pip(&set, &[], &[uv.into()]).unwrap().unwrap().host(), "u.example");
        let text = "; x\nregistry=https://n.example/r/\n//n.example/r/:_authToken=${TOKEN}\n";
        let set = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
        let index = npm(&set, &[text.into()]).unwrap().unwrap();
        assert_eq!((index.host(), index.token.as_deref()), ("n.example", Some("secret")));
        assert!(npm(&none, &[]).unwrap().is_none());
    }
}
