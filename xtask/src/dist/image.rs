//! The image for containers: an OCI layout that `docker load` takes as well, made without an engine and without a base image.
//!
//! It holds an installation below `/usr`, the C library that the program was linked with, and nothing else: no shell. It runs as a
//! user without rights, with a root that need not be written; `/state` is the server's.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::digest::sha256;
use serde_json::{Value as Json, json};

use super::{Machine, Release, done};

/// The user of its programs, who owns nothing but `/state`.
const USER: u32 = 65_532;
/// Its name at an engine, before the version.
const NAME: &str = "dormouse-sandbox";
/// The certificates of authorities, where Debian has them.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// Where they are on this machine.
pub(super) fn certificates() -> PathBuf {
    Path::new("/").join(CERTIFICATES)
}

/// Packs it. `prefix`: a staged installation; `root`: a folder for its files.
pub(super) fn pack(release: &Release, prefix: &Path, root: &Path, into: &Path) -> Result<()> {
    let (files, layout) = (root.join("files"), root.join("layout"));
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    stage(release.machine, prefix, &files)?;
    let layer = root.join("layer.tar");
    tar_of(release, &files, &layer)?;
    let uncompressed = sha256(&fs::read(&layer)?);
    done(Command::new("gzip").args(["-n", if release.quick { "-1" } else { "-9" }]).arg(&layer))?;
    let put = |bytes: &[u8], kind: &str| -> Result<Json> {
        let digest = sha256(bytes);
        fs::write(blobs.join(&digest), bytes)?;
        Ok(json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
    };
    let layer =
        put(&fs::read(layer.with_extension("tar.gz"))?, "application/vnd.oci.image.layer.v1.tar+gzip")?;
    let config =
        put(configuration(release, &uncompressed)?.as_bytes(), "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [layer]});
    let mut manifest = put(manifest.to_string().as_bytes(), "application/vnd.oci.image.manifest.v1+json")?;
    let tag = format!("{NAME}:{}", release.version);
    manifest["annotations"] =
        json!({"org.opencontainers.image.ref.name": release.version, "io.containerd.image.name": tag});
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]});
    let blob = |of: &Json| of["digest"].as_str().map(|digest| format!("blobs/{}", digest.replace(':', "/")));
    // What engines read that do not know the layout.
    let docker = json!([{"Config": blob(&config), "RepoTags": [tag], "Layers": [blob(&layer)]}]);
    for (name, text) in [
        ("oci-layout", json!({"imageLayoutVersion": "1.0.0"})),
        ("index.json", index),
        ("manifest.json", docker),
    ] {
        fs::write(layout.join(name), text.to_string())?;
    }
    tar_of(release, &layout, into)
}

/// The files of the image.
fn stage(machine: Machine, prefix: &Path, files: &Path) -> Result<()> {
    fs::create_dir_all(files)?;
    let usr = files.join("usr");
    fs::create_dir_all(&usr)?;
    for part in ["bin", "lib", "share"] {
        done(Command::new("cp").args(["--archive", "--link"]).arg(prefix.join(part)).arg(&usr))?;
    }
    for (library, place) in libraries(machine, &prefix.join("bin/dormouse"))? {
        let place = files.join(place.strip_prefix("/").context("the path of a library is absolute")?);
        fs::create_dir_all(place.parent().unwrap_or(files))?;
        // What a link leads to: no other name of it is needed.
        fs::copy(&library, &place).with_context(|| library.display().to_string())?;
    }
    fs::create_dir_all(files.join("etc/ssl/certs"))?;
    fs::copy(certificates(), files.join(CERTIFICATES)).context("ca-certificates are not installed")?;
    fs::write(
        files.join("etc/passwd"),
        format!("root:x:0:0::/:/none\ndormouse:x:{USER}:{USER}::/state:/none\n"),
    )?;
    fs::write(files.join("etc/group"), format!("root:x:0:\ndormouse:x:{USER}:\n"))?;
    super::pack::open_to_all(files)?;
    for (name, mode) in [("tmp", 0o1777), ("state", 0o700)] {
        fs::create_dir(files.join(name))?;
        fs::set_permissions(files.join(name), fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The libraries that a program is started with, and the loader: where they are here, and where the loader looks for them.
fn libraries(machine: Machine, program: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let said = match machine.is_here() {
        true => Command::new("ldd").arg(program).output().context("`ldd` does not start")?,
        false => machine.run_with("LD_TRACE_LOADED_OBJECTS=1", program).output()?,
    };
    let said = String::from_utf8(said.stdout)?;
    let paths = said.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    let found: Vec<(PathBuf, PathBuf)> = paths
        .map(|path| match machine.is_here() {
            true => (path.into(), path.into()),
            // Those of another machine lie in a folder that stands for its root.
            false => (machine.libraries().join(path.trim_start_matches('/')), path.into()),
        })
        .collect();
    ensure!(found.len() >= 2, "no libraries are named: {said}");
    Ok(found)
}

/// A tar of a folder: root owns everything but `state`.
fn tar_of(release: &Release, folder: &Path, into: &Path) -> Result<()> {
    let tar = |action: &str, owner: u32| {
        let mut tar = Command::new("tar");
        tar.args([action, "--sort=name", "--numeric-owner", "--format=gnu"])
            .arg(format!("--mtime=@{}", release.time));
        tar.arg(format!("--owner={owner}")).arg(format!("--group={owner}"));
        tar.arg("--file").arg(into).arg("--directory").arg(folder);
        tar
    };
    let mut names: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    done(tar("--create", 0).args(names.iter().filter(|name| *name != "state")))?;
    if folder.join("state").is_dir() {
        done(tar("--append", USER).arg("state"))?;
    }
    Ok(())
}

/// How it is run.
///
/// Source: the OCI image specification 1.1; the health check is Docker's addition to it.
fn configuration(release: &Release, layer: &str) -> Result<String> {
    let created = Command::new("date")
        .args(["--utc", "--iso-8601=seconds", "--date"])
        .arg(format!("@{}", release.time))
        .output()?;
    let created = String::from_utf8(created.stdout)?.trim().replace("+00:00", "Z");
    let health = ["CMD", "/usr/bin/dormouse", "health"];
    let second = 1_000_000_000_u64;
    let config = json!({
        "created": created, "architecture": release.machine.debian(), "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin", "HOME=/state", "DORMOUSE_CACHE_DIR=/state/cache"],
            "Entrypoint": ["/usr/bin/dormouse", "serve"],
            "Cmd": ["--listen", "0.0.0.0:3008", "--state-dir", "/state/sandboxes", "--token-file", "/run/secrets/tokens"],
            "WorkingDir": "/state",
            "ExposedPorts": {"3008/tcp": {}},
            "Volumes": {"/state": {}},
            "Healthcheck": {"Test": health, "Interval": 30 * second, "Timeout": 6 * second, "StartPeriod": 5 * second, "Retries": 3},
            "Labels": {"org.opencontainers.image.title": NAME, "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
                "io.modelcontextprotocol.server.name": super::mcpb::NAME},
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer}")]},
    });
    Ok(config.to_string())
}
