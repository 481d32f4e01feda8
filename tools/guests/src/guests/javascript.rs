//! The recipe of the JavaScript guest: QuickJS-ng with our driver, a library in Rust, and modules in JavaScript.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::job::{Job, include};
use super::libraries::{self, ZLIB, ZLIB_FILES, ZLIB_TREE};
use super::npm;
use super::recipe::{Pin, Recipe};
use super::tree::{self, Origin, Tree};
use super::wizer::{World, argument};
use super::zstd;

/// QuickJS-ng; its C sources ride in the package rquickjs-sys.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "javascript",
    waits: true,
    interpreter: "QuickJS-ng 0.16.2",
    version: 1,
    text: &[include_str!("javascript.rs"), libraries::TEXT, npm::TEXT, zstd::TEXT],
    pins: &[Pin::Crate("rquickjs-sys"), Pin::Debian(&ZLIB), Pin::Crate(BROTLI), Pin::Crate(zstd::PACKAGE)],
    trees: &[
        Tree::new(
            "quickjs",
            Origin::Package { manifest: "sources/Cargo.toml", name: "rquickjs-sys", folder: "quickjs" },
        ),
        ZLIB_TREE,
    ],
    build,
};

/// The C stack. The interpreter's own limit lies below it, so that deep recursion is an error of the language.
const STACK: u32 = 5 << 20;

/// Parts of the interpreter that are compiled as they are.
const ENGINE: [&str; 3] = ["dtoa", "libregexp", "libunicode"];

/// The package that carries Brotli's sources.
const BROTLI: &str = "compu-brotli-sys";

/// Brotli's folders, and their files.
const BROTLI_FILES: [(&str, &[&str]); 3] = [
    ("common", &["constants", "context", "dictionary", "platform", "shared_dictionary", "transform"]),
    ("dec", &["bit_reader", "decode", "huffman", "prefix", "state", "static_init"]),
    (
        "enc",
        &[
            "backward_references",
            "backward_references_hq",
            "bit_cost",
            "block_splitter",
            "brotli_bit_stream",
            "cluster",
            "command",
            "compound_dictionary",
            "compress_fragment",
            "compress_fragment_two_pass",
            "dictionary_hash",
            "encode",
            "encoder_dict",
            "entropy_encode",
            "fast_log",
            "histogram",
            "literal_cost",
            "memory",
            "metablock",
            "static_dict",
            "static_dict_lut",
            "static_init",
            "utf8_util",
        ],
    ),
];

/// Our own C files.
const DRIVER: [&str; 29] = [
    "asides",
    "text",
    "start",
    "interpreter",
    "run",
    "sources",
    "timers",
    "calls",
    "net",
    "ticks",
    "encode",
    "scalars",
    "describe",
    "raise",
    "vars",
    "modules",
    "typescript",
    "statements",
    "natives",
    "files",
    "opened",
    "code",
    "library",
    "crypto",
    "decoders",
    "zlib",
    "frames",
    "realm",
    "intl",
];

/// What the names of our own JavaScript begin with; stack traces leave such frames out.
const PREFIX: &str = "dormouse:";

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let quickjs = job.prepare("quickjs")?;
    let zlib = job.prepare(ZLIB_TREE.name)?;
    let brotli = job.crate_sources(BROTLI)?.join("brotli/c");
    let zstd = zstd::sources(job)?;
    let bindings = job.bindings()?;
    let native = job.cargo("dormouse_javascript", &[])?;
    let written = library(job)?;
    let own = [&bindings.headers, &job.driver, &quickjs, &job.guest, &zlib, &written];
    let includes = own
        .map(|folder| include(folder))
        .into_iter()
        .chain([include(&brotli.join("include")), include(&zstd)]);
    let flags: Vec<OsString> = ["-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-std=gnu23"]
        .map(OsString::from)
        .into_iter()
        .chain(includes)
        .collect();
    let unit =
        |folder: &Path, name: &str, flags: &[&str]| job.unit(folder.join(format!("{name}.c")), name, flags);
    // The largest file comes first, so that it does not run alone at the end.
    let mut units = vec![unit(&job.guest, "engine", &["-w"])];
    units.extend(ENGINE.iter().map(|name| unit(&quickjs, name, &["-w"])));
    units.push(unit(&bindings.headers, "guest", &["-w"]));
    units.push(unit(&job.driver, "state", &["-Wall", "-Wextra"]));
    let compressed = ZLIB_FILES.iter().filter(|name| !name.starts_with("gz"));
    units.extend(compressed.map(|name| unit(&zlib, name, &["-w", "-O3"])));
    let library = |source: &Path, name: &str, file: &str, flags: &[&str]| {
        job.unit(source.join(format!("{file}.c")), &format!("{name}/{file}"), flags)
    };
    for (folder, names) in BROTLI_FILES {
        let files = names.iter().map(|name| format!("{folder}/{name}"));
        units.extend(files.map(|file| library(&brotli, "brotli", &file, &["-w"])));
    }
    units.extend(zstd::FILES.iter().map(|file| library(&zstd, "zstd", file, zstd::FLAGS)));
    units.extend(DRIVER.iter().map(|name| unit(&job.guest, name, &["-Wall", "-Wextra"])));
    job.compile("compile", &units, &flags)?;
    let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
    inputs.extend([argument(&bindings.object), argument(&native)]);
    let core = job.link("javascript", STACK, &inputs)?;
    job.initialise(&core, &World::default())
}

/// Writes the C file with the modules that are evaluated when they are first asked for: the folder that it is in.
fn library(job: &Job<'_>) -> Result<PathBuf> {
    let own = job.guest.join("library");
    let list = fs::read_to_string(own.join("library.txt")).context("library.txt")?;
    let named: Vec<&str> =
        list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let packages = npm::packages(job, &own, &named)?;
    let mut modules = Vec::new();
    for file in tree::files(&own)? {
        if file.extension().is_some_and(|ending| ending == "js") {
            let name = file.strip_prefix(&own)?.with_extension("");
            modules.push((name.display().to_string(), file));
        }
    }
    modules.extend(named.iter().map(|file| ((*file).to_owned(), packages.join(file))));
    let mut text = format!("#define LIBRARY_PREFIX \"{PREFIX}\"\n");
    for (at, (_, file)) in modules.iter().enumerate() {
        writeln!(text, "static char source_{at}[] = {{\n#embed {:?}\n}};", file.display().to_string())?;
    }
    text += "static code_part library[] = {\n";
    for (at, (name, _)) in modules.iter().enumerate() {
        writeln!(text, "    {{\"{PREFIX}{name}\", source_{at}, sizeof source_{at}, CODE_MODULE, NULL, 0}},")?;
    }
    text += "};\n";
    let folder = job.scratch.join("library");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("library_sources.h"), text)?;
    Ok(folder)
}
