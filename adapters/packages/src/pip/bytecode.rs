//! Compiled code of packages, so that the first run that imports them does not compile them. It is made in a sandbox of its own, like
//! builds, and kept by the modules that it is of: whoever installs the same modules gets the same code. What fails here leaves the
//! package as it is, without.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dormouse_core::packages::{
    Build, BuildMachines, Package, PackageEvent, PackageFile, PackageManager, site_packages,
};
use dormouse_core::{GuestPath, Result};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Call;

/// What runs in the sandbox.
const SCRIPT: &str = include_str!("compile.py");
/// Longest time that one call compiles; what is left is compiled when it is imported, or by the next call.
const TIME: Duration = Duration::from_secs(20);
/// What a sandbox may take beyond its share, to begin and to end.
const GRACE: Duration = Duration::from_secs(5);
/// Most bytes of the code of one package (64 MiB).
const MAX_CODE: u64 = 64 << 20;
/// Folders whose modules are seldom imported.
const TESTS: [&str; 2] = ["tests", "test"];

/// Compiled code, by the paths of its modules; empty for those that cannot be compiled.
type Code = BTreeMap<String, Vec<u8>>;

impl Call<'_> {
    /// Adds compiled code to packages, within `room` bytes.
    pub(super) async fn compile(&self, packages: &mut [Package], python: &str, room: u64) {
        let Some(machines) = self.machines else { return };
        let (until, mut room) = (Instant::now() + TIME, room);
        for package in packages {
            let modules = modules(package, python);
            if modules.is_empty() {
                continue;
            }
            let key = key(python, &modules);
            let mut code = match self.source.kept(&key).await {
                Some(kept) => read(&kept, &modules),
                None => Code::new(),
            };
            let missing: Vec<&PackageFile> =
                modules.iter().copied().filter(|module| !code.contains_key(&module.path)).collect();
            let left = until.saturating_duration_since(Instant::now());
            if !missing.is_empty() && !left.is_zero() {
                (self.progress)(PackageEvent::Compiling { name: package.name.clone() });
                match self.made(machines, &missing, left).await {
                    Ok(made) => {
                        code.extend(read(&made, &missing));
                        self.source.keep(&key, write(&code)).await;
                    }
                    Err(error) => tracing::debug!(%error, package = package.name, "it was not compiled"),
                }
            }
            add(package, code, python, &mut room);
        }
    }

    /// The code of modules, as the script writes it.
    async fn made(
        &self,
        machines: &dyn BuildMachines,
        modules: &[&PackageFile],
        left: Duration,
    ) -> Result<Vec<u8>> {
        let (root, place) = (PackageManager::Pip.root()?, "/workspace");
        let mut files = Vec::with_capacity(modules.len() + 1);
        for module in modules {
            files.push((GuestPath::parse(&format!("{root}/{}", module.path))?, module.bytes.clone()));
        }
        let paths: Vec<&str> = modules.iter().map(|module| module.path.as_str()).collect();
        let asked = json!({"modules": paths, "seconds": left.as_secs_f64()});
        files.push((GuestPath::parse(&format!("{place}/compile.json"))?, asked.to_string().into_bytes()));
        let takes = GuestPath::parse(&format!("{place}/compiled"))?;
        let build = Build { files, code: SCRIPT.to_owned(), takes, most: MAX_CODE };
        let built = tokio::time::timeout(left + GRACE, machines.build(&self.owner, build)).await;
        let built =
            built.map_err(|late| dormouse_core::Error::internal("compiling took too long", late))??;
        Ok(built.file.map(|(_, bytes)| bytes).unwrap_or_default())
    }
}

/// The modules of a package that are compiled, those with the shortest paths first.
fn modules<'a>(package: &'a Package, python: &str) -> Vec<&'a PackageFile> {
    let site = format!("{}/", site_packages(python));
    let there: BTreeSet<&str> = package.files.iter().map(|file| file.path.as_str()).collect();
    let wanted = |file: &&PackageFile| {
        let below = file.path.strip_prefix(&site).filter(|path| path.ends_with(".py"));
        below.is_some_and(|path| !path.split('/').any(|part| TESTS.contains(&part)))
            && cached(&file.path, python).is_some_and(|path| !there.contains(path.as_str()))
    };
    let mut modules: Vec<&PackageFile> = package.files.iter().filter(wanted).collect();
    modules.sort_by_key(|file| (file.path.matches('/').count(), &file.path));
    modules
}

/// Where the interpreter looks for the code of a module.
fn cached(module: &str, python: &str) -> Option<String> {
    let (folder, name) = module.rsplit_once('/')?;
    let mut version = python.split('.');
    let (major, minor) = (version.next()?, version.next()?);
    Some(format!("{folder}/__pycache__/{}.cpython-{major}{minor}.pyc", name.strip_suffix(".py")?))
}

/// What the code of these modules is kept under.
fn key(python: &str, modules: &[&PackageFile]) -> String {
    let mut hash = Sha256::new();
    for PackageFile { path, bytes, .. } in modules {
        hash.update(format!("{} {path}\n", bytes.len()));
        hash.update(bytes);
    }
    format!("bytecode of {python} {}", data_encoding::HEXLOWER.encode(&hash.finalize()))
}

/// Reads code as the script writes it. What is of none of these modules ends it.
fn read(bytes: &[u8], modules: &[&PackageFile]) -> Code {
    let known: BTreeSet<&str> = modules.iter().map(|module| module.path.as_str()).collect();
    let (mut code, mut rest) = (Code::new(), bytes);
    while let Some((path, data, after)) = entry(rest).filter(|(path, ..)| known.contains(path)) {
        code.insert(path.to_owned(), data.to_vec());
        rest = after;
    }
    code
}

fn entry(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (length, path) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
    let (data, after) = bytes[end + 1..].split_at_checked(length.parse().ok()?)?;
    Some((path, data, after))
}

fn write(code: &Code) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, data) in code {
        bytes.extend_from_slice(format!("{} {path}\n", data.len()).as_bytes());
        bytes.extend_from_slice(data);
    }
    bytes
}

/// Places code in a package, and names it in its `RECORD`.
fn add(package: &mut Package, code: Code, python: &str, room: &mut u64) {
    let site = format!("{}/", site_packages(python));
    let mut named = String::new();
    for (module, bytes) in code.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let (Some(path), Some(left)) = (cached(&module, python), room.checked_sub(bytes.len() as u64)) else {
            continue;
        };
        *room = left;
        let below = path.strip_prefix(&site).unwrap_or(&path);
        named.push_str(&format!("{},,\n", super::layout::quoted(below)));
        package.files.push(PackageFile { path, bytes, executable: false });
    }
    let record = format!("{}/RECORD", package.path);
    if let Some(file) = package.files.iter_mut().find(|file| file.path == record) {
        file.bytes.extend_from_slice(named.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> PackageFile {
        PackageFile {
            path: format!("lib/python3.14/site-packages/{path}"),
            bytes: b"1".to_vec(),
            executable: false,
        }
    }

    #[test]
    fn only_what_is_of_the_modules_is_read() {
        let (one, two) = (module("a.py"), module("b.py"));
        let modules = [&one, &two];
        let whole =
            write(&Code::from([(one.path.clone(), b"x\ny".to_vec()), (two.path.clone(), Vec::new())]));
        assert_eq!(read(&whole, &modules).len(), 2);
        assert_eq!(read(&whole, &modules)[&one.path], b"x\ny");
        assert_eq!(read(&whole, &[&one]).len(), 1);
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut], &modules).len() < 2);
        }
        for bad in [&b"99999999999999999999 a\n"[..], b"-1 a\n", b"5 a\nx", b"\xff\n", b"1 ../a.py\nx"] {
            assert!(read(bad, &modules).is_empty());
        }
    }

    #[test]
    fn code_lies_where_the_interpreter_looks_and_is_part_of_the_package() {
        let mut package = Package {
            name: "a".into(),
            version: "1".into(),
            path: "lib/python3.14/site-packages/a-1.dist-info".into(),
            sha256: String::new(),
            files: [
                "a/b.py",
                "a/tests/c.py",
                "a/d.txt",
                "e.py",
                "e-1.dist-info/RECORD",
                "a-1.dist-info/RECORD",
            ]
            .map(module)
            .into(),
        };
        let found: Vec<String> = modules(&package, "3.14.7").iter().map(|file| file.path.clone()).collect();
        assert_eq!(found, [module("e.py").path, module("a/b.py").path]);
        let mut room = 3;
        add(
            &mut package,
            Code::from([(found[0].clone(), vec![7; 2]), (found[1].clone(), vec![7; 2])]),
            "3.14.7",
            &mut room,
        );
        let added: Vec<&PackageFile> = package.files.iter().filter(|file| file.is_bytecode()).collect();
        assert_eq!(added.len(), 1);
        assert_eq!(added[0].path, module("a/__pycache__/b.cpython-314.pyc").path);
        let record = package.files.iter().find(|file| file.path.ends_with("a-1.dist-info/RECORD")).unwrap();
        assert_eq!(record.bytes, b"1a/__pycache__/b.cpython-314.pyc,,\n");
    }
}
