//! An index's page about a project: PEP 691 (JSON), else PEP 503 (HTML).

use html5gum::{Token, Tokenizer};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::digest::Digest;
use crate::source::Page;

/// Longest name of a file, in bytes.
const MAX_NAME: usize = 255;
/// Longest address of a file, in bytes. A page's `<base>` stands in front of each of its addresses.
const MAX_URL: usize = 2 << 10;
/// Most files of a project.
const MAX_FILES: usize = 50_000;

/// A file of a project.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) filename: String,
    pub(crate) url: Url,
    pub(crate) digest: Option<Digest>,
    pub(crate) requires_python: Option<String>,
    /// The hash of its `METADATA`, which lies beside it.
    pub(crate) metadata: Option<Digest>,
    pub(crate) yanked: bool,
}

/// Reads a page; none when it has another form, or names more files than a project has.
pub(crate) fn read(page: &Page) -> Option<Vec<File>> {
    if page.url.as_str().len() > MAX_URL {
        return None;
    }
    let kind = page.kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let mut files = if kind.ends_with("json") {
        json(page)?
    } else if kind.ends_with("html") || kind.is_empty() {
        html(page)?
    } else {
        return None;
    };
    files.retain(|file| file.filename.len() <= MAX_NAME && !file.filename.contains(char::is_control));
    Some(files)
}

#[derive(Deserialize)]
struct Listed {
    files: Vec<ListedFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ListedFile {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: Json,
    #[serde(default)]
    requires_python: Option<String>,
    #[serde(default)]
    core_metadata: Json,
    #[serde(default)]
    dist_info_metadata: Json,
    #[serde(default)]
    yanked: Json,
}

fn json(page: &Page) -> Option<Vec<File>> {
    let listed: Listed = serde_json::from_slice(&page.body).ok()?;
    if listed.files.len() > MAX_FILES {
        return None;
    }
    let digest = |hashes: &Json| hashes["sha256"].as_str().and_then(Digest::sha256);
    let files = listed.files.into_iter().filter_map(|file| {
        Some(File {
            url: address(&page.url, &file.url)?,
            digest: digest(&file.hashes),
            metadata: digest(&file.core_metadata).or_else(|| digest(&file.dist_info_metadata)),
            yanked: match &file.yanked {
                Json::Bool(yanked) => *yanked,
                other => other.is_string(),
            },
            filename: file.filename,
            requires_python: file.requires_python,
        })
    });
    Some(files.collect())
}

/// An address as a page names it.
fn address(base: &Url, named: &str) -> Option<Url> {
    (named.len() <= MAX_URL)
        .then(|| base.join(named).ok())
        .flatten()
        .filter(|url| url.as_str().len() <= MAX_URL)
}

fn html(page: &Page) -> Option<Vec<File>> {
    let text = String::from_utf8_lossy(&page.body);
    let mut base = page.url.clone();
    let mut files = Vec::new();
    for token in Tokenizer::new(&*text).flatten() {
        let Token::StartTag(tag) = token else { continue };
        let attribute = |wanted: &str| {
            let mut found = tag.attributes.iter().filter(|(name, _)| name.as_slice() == wanted.as_bytes());
            found.next().map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        let Some(mut url) = attribute("href").and_then(|href| address(&base, &href)) else { continue };
        if tag.name.as_slice() == b"base" {
            base = url;
            continue;
        }
        let digest = url.fragment().and_then(|hash| hash.strip_prefix("sha256=")).and_then(Digest::sha256);
        url.set_fragment(None);
        let metadata = attribute("data-core-metadata").or_else(|| attribute("data-dist-info-metadata"));
        let Some(filename) = url.path_segments().and_then(|mut parts| parts.next_back()) else { continue };
        if files.len() >= MAX_FILES {
            return None;
        }
        files.push(File {
            filename: filename.replace("%2B", "+").replace("%2b", "+"),
            digest,
            requires_python: attribute("data-requires-python"),
            metadata: metadata.and_then(|hash| Digest::sha256(hash.strip_prefix("sha256=")?)),
            yanked: attribute("data-yanked").is_some(),
            url,
        });
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_read_with_its_entities_and_base() {
        let hash = "0".repeat(64);
        let body = format!(
            "<!DOCTYPE html><html><body><base href='/files/'>\
             <a href=\"a-1.0-py3-none-any.whl#sha256={hash}\" data-requires-python=\"&gt;=3.9\" \
             data-dist-info-metadata=\"sha256={hash}\">a</a><a href='a-2.0.tar.gz' data-yanked>x</a><a>none</a>"
        );
        let url = Url::parse("http://h/simple/a/").unwrap();
        let files = read(&Page { kind: "text/html; charset=utf-8".into(), url, body: body.into() }).unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(files[0].url.as_str(), "http://h/files/a-1.0-py3-none-any.whl");
        assert_eq!(files[0].requires_python.as_deref(), Some(">=3.9"));
        assert!(files[0].digest.is_some() && files[0].metadata.is_some() && !files[0].yanked);
        assert!(files[1].yanked && files[1].digest.is_none());
    }

    #[test]
    fn an_address_is_not_made_long_by_the_page() {
        let url = Url::parse("http://h/simple/a/").unwrap();
        let page = |body: String| Page { kind: "text/html".into(), url: url.clone(), body: body.into() };
        let long = "b".repeat(MAX_URL);
        let files =
            read(&page(format!("<base href='/{long}/'><a href='x-1.tar.gz'>x</a><a href='/{long}'>y</a>")))
                .unwrap();
        assert_eq!(
            files.iter().map(|file| file.url.as_str()).collect::<Vec<_>>(),
            ["http://h/simple/a/x-1.tar.gz"]
        );
        assert!(read(&page("<a href=x>".repeat(MAX_FILES))).is_some());
        assert!(read(&page("<a href=x>".repeat(MAX_FILES + 1))).is_none());
    }
}
