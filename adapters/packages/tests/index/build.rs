//! Wheels and tarballs, built here.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256, Sha512};

use crate::server::{Say, Server};

pub(crate) fn sha256(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// A wheel of one module, and how the index lists it.
#[derive(Clone)]
pub(crate) struct Wheel {
    pub(crate) name: String,
    pub(crate) version: String,
    tag: &'static str,
    headers: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    about: Json,
}

/// How an index tells its files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    /// With the `METADATA` of each wheel beside it.
    JsonMetadata,
    Html,
}

impl Wheel {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let module = format!("{}.py", name.replace('-', "_"));
        let files = vec![(module, format!("VERSION = '{version}'\n").into_bytes())];
        let (headers, about) = (Vec::new(), json!({}));
        Self { name: name.into(), version: version.into(), tag: "py3-none-any", headers, files, about }
    }

    pub(crate) fn requires(mut self, requirement: &str) -> Self {
        self.headers.push(format!("Requires-Dist: {requirement}"));
        self
    }

    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.tag = tag;
        self
    }

    /// A field of the index's list.
    pub(crate) fn listed(mut self, field: &str, value: Json) -> Self {
        self.about[field] = value;
        self
    }

    pub(crate) fn file(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.push((path.into(), bytes.to_vec()));
        self
    }

    fn stem(&self) -> String {
        format!("{}-{}", self.name.replace('-', "_"), self.version)
    }

    pub(crate) fn filename(&self) -> String {
        format!("{}-{}.whl", self.stem(), self.tag)
    }

    fn metadata(&self) -> String {
        let (name, version, headers) = (&self.name, &self.version, self.headers.join("\n"));
        format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}\n\nRequires-Dist: text\n")
            .replace("\n\n\n", "\n\n")
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let info = format!("{}.dist-info", self.stem());
        let mut files = self.files.clone();
        files.push((format!("{info}/METADATA"), self.metadata().into_bytes()));
        files.push((format!("{info}/WHEEL"), b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\n".to_vec()));
        files.push((format!("{info}/RECORD"), Vec::new()));
        zip(&files)
    }
}

/// A zip of these files, whatever their names.
pub(crate) fn zip(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Puts all wheels of one project into an index.
pub(crate) fn project(server: &Server, form: Form, wheels: &[Wheel]) {
    let name = &wheels[0].name;
    let (mut files, mut anchors) = (Vec::new(), String::new());
    for wheel in wheels {
        let (bytes, file) = (wheel.build(), wheel.filename());
        let mut about = json!({
            "filename": file, "url": format!("../../files/{file}"), "hashes": {"sha256": sha256(&bytes)},
        });
        let mut attributes = String::new();
        if form == Form::JsonMetadata {
            let metadata = wheel.metadata().into_bytes();
            about["core-metadata"] = json!({"sha256": sha256(&metadata)});
            server.put(format!("/files/{file}.metadata"), Say::Body("text/plain", metadata));
        }
        for (field, value) in wheel.about.as_object().unwrap() {
            about[field] = value.clone();
            if value != &json!(false) {
                let text = value.as_str().unwrap_or_default().replace('>', "&gt;").replace('<', "&lt;");
                attributes.push_str(&format!(" data-{field}=\"{text}\""));
            }
        }
        let hash = about["hashes"]["sha256"].as_str().unwrap_or_default().to_owned();
        anchors
            .push_str(&format!("<a href=\"../../files/{file}#sha256={hash}\"{attributes}>{file}</a><br>\n"));
        files.push(about);
        server.put(format!("/files/{file}"), Say::Body("application/octet-stream", bytes));
    }
    let page = match form {
        Form::Html => Say::Body("text/html", format!("<!DOCTYPE html><body>{anchors}</body>").into_bytes()),
        _ => {
            let page = json!({"meta": {"api-version": "1.1"}, "name": name, "files": files});
            Say::Body("application/vnd.pypi.simple.v1+json", page.to_string().into_bytes())
        }
    };
    server.put(format!("/simple/{name}/"), page);
}

/// A version of an npm package: what its `package.json` says, and its further files.
#[derive(Clone)]
pub(crate) struct Tarball {
    pub(crate) about: Json,
    files: Vec<(String, Vec<u8>)>,
}

impl Tarball {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let files = vec![("index.js".to_owned(), format!("module.exports = '{version}';\n").into_bytes())];
        Self { about: json!({"name": name, "version": version}), files }
    }

    pub(crate) fn says(mut self, field: &str, value: Json) -> Self {
        self.about[field] = value;
        self
    }

    pub(crate) fn needs(self, dependencies: Json) -> Self {
        self.says("dependencies", dependencies)
    }

    pub(crate) fn file(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.push((path.into(), bytes.to_vec()));
        self
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut files = vec![("package/package.json".to_owned(), self.about.to_string().into_bytes())];
        files.extend(self.files.iter().map(|(path, bytes)| (format!("package/{path}"), bytes.clone())));
        tgz(&files, |_| {})
    }
}

/// A tar.gz of these files, whatever their names, and what `more` adds.
pub(crate) fn tgz(files: &[(String, Vec<u8>)], more: impl Fn(&mut tar::Builder<Vec<u8>>)) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // As it is: the builder would refuse bad names itself.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, bytes.as_slice()).unwrap();
    }
    more(&mut builder);
    let plain = builder.into_inner().unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&plain).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn integrity(bytes: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(bytes)))
}

/// Puts all versions of one package into a registry; the last is `latest`.
pub(crate) fn package(server: &Server, versions: &[Tarball]) {
    let built: Vec<(Json, Vec<u8>)> =
        versions.iter().map(|tarball| (tarball.about.clone(), tarball.build())).collect();
    registered(server, &built);
}

/// The same with archives of any content.
pub(crate) fn registered(server: &Server, versions: &[(Json, Vec<u8>)]) {
    let name = versions[0].0["name"].as_str().unwrap().to_owned();
    let mut listed = json!({});
    let mut latest = String::new();
    for (about, bytes) in versions {
        let version = about["version"].as_str().unwrap();
        let path = format!("/tarballs/{}-{version}.tgz", name.replace('/', "-"));
        let mut about = about.clone();
        about["dist"] = json!({"tarball": format!("{}{path}", server.url), "integrity": integrity(bytes)});
        server.put(path, Say::Body("application/octet-stream", bytes.clone()));
        listed[version] = about;
        latest = version.to_owned();
    }
    let document = json!({"name": name, "dist-tags": {"latest": latest}, "versions": listed});
    let path = format!("/npm/{}", name.replace('/', "%2f"));
    server.put(path, Say::Body("application/json", document.to_string().into_bytes()));
}
