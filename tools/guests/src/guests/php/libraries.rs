//! The C libraries that only PHP's extensions use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{UNWINDING, icu};
use crate::guests::job::{Job, include};
use crate::guests::key::sha256;
use crate::guests::libraries::Libraries;
use crate::guests::source::DebianFile;
use crate::guests::tree::{self, Origin, Tree};

pub(super) const XML: [DebianFile; 1] = [DebianFile {
    package: "libxml2",
    file: "libxml2_2.9.14+dfsg.orig.tar.xz",
    sha256: "4fe913dec8b1ab89d13b489b419a8203176ea39e931eaa0d25b17eafb9c279e9",
}];

pub(super) const GMP: [DebianFile; 1] = [DebianFile {
    package: "gmp",
    file: "gmp_6.3.0+dfsg.orig.tar.xz",
    sha256: "bd2966e6d277f79328e894a5a9f3ba3fbf2ed2be81def5f48623e30c23fb1572",
}];

pub(super) const ZIP: [DebianFile; 1] = [DebianFile {
    package: "libzip",
    file: "libzip_1.7.3.orig.tar.xz",
    sha256: "a60473ffdb7b4260c08bfa19c2ccea0438edac11193c3afbbb1f17fbcf6c6132",
}];

/// Not Debian stable's 1.6.48, whose holes are mended in Debian's patches only.
pub(super) const PNG: [DebianFile; 1] = [DebianFile {
    package: "libpng1.6",
    file: "libpng1.6_1.6.58.orig.tar.gz",
    sha256: "a9d4df463d36a6e5f9c29bd6f4967312d17e996c1854f3511f833924eb1993cf",
}];

pub(super) const JPEG: [DebianFile; 1] = [DebianFile {
    package: "libjpeg-turbo",
    file: "libjpeg-turbo_2.1.5.orig.tar.gz",
    sha256: "254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c",
}];

pub(super) const SODIUM: [DebianFile; 1] = [DebianFile {
    package: "libsodium",
    file: "libsodium_1.0.22.orig.tar.gz",
    sha256: "5838bb0c3da6148c24ebe531d1ed1297de9a87aea77d426bcd99f289e681631c",
}];

/// For the functions `openssl_…`: OpenSSL itself would be a third of the guest.
pub(super) const MBEDTLS: [DebianFile; 1] = [DebianFile {
    package: "mbedtls",
    file: "mbedtls_3.6.6.orig.tar.bz2",
    sha256: "8fb65fae8dcae5840f793c0a334860a411f884cc537ea290ce1c52bb64ca007a",
}];

pub(super) const CURL: [DebianFile; 1] = [DebianFile {
    package: "curl",
    file: "curl_8.14.1.orig.tar.gz",
    sha256: "6766ada7101d292b42b8b15681120acd68effa4a9660935853cf6d61f0d984d4",
}];

/// The package that carries Oniguruma's sources.
pub(super) const ONIGURUMA: &str = "onig_sys";

pub(super) const XML_TREE: Tree = Tree::new("libxml2", Origin::Debian(&XML));
pub(super) const CURL_TREE: Tree = Tree {
    name: "curl",
    origin: Origin::Debian(&CURL),
    own: &[
        ("libraries/curl/curl_config.h", "lib/curl_config.h"),
        ("libraries/curl/rustls.c", "lib/vtls/rustls.c"),
    ],
};
pub(super) const MBEDTLS_TREE: Tree = Tree::new("mbedtls", Origin::Debian(&MBEDTLS));
pub(super) const GMP_TREE: Tree = Tree::new("gmp", Origin::Debian(&GMP));
pub(super) const PNG_TREE: Tree = Tree::new("png", Origin::Debian(&PNG));
pub(super) const ZIP_TREE: Tree = Tree {
    name: "zip",
    origin: Origin::Debian(&ZIP),
    own: &[
        ("libraries/zip/config.h", "lib/config.h"),
        ("libraries/zip/zipconf.h", "lib/zipconf.h"),
        ("libraries/zip/zip_err_str.c", "lib/zip_err_str.c"),
    ],
};
pub(super) const JPEG_TREE: Tree = Tree {
    name: "jpeg",
    origin: Origin::Debian(&JPEG),
    own: &[
        ("libraries/jpeg/jconfig.h", "jconfig.h"),
        ("libraries/jpeg/jconfigint.h", "jconfigint.h"),
        ("libraries/jpeg/jversion.h", "jversion.h"),
    ],
};
pub(super) const SODIUM_TREE: Tree = Tree::new("sodium", Origin::Debian(&SODIUM));

/// Their names for the linker.
pub(super) const NAMES: [&str; 9] =
    ["curl", "gmp", "jpeg", "mbedtls", "onig", "png", "sodium", "xml2", "zip"];

/// What each file of ours is compiled with, besides the flags of one library.
const OPTIMISED: &[&str] = &["-O2", "-DNDEBUG", "-D_GNU_SOURCE"];

const ONIGURUMA_FILES: &[&str] = &[
    "regparse",
    "regcomp",
    "regexec",
    "regenc",
    "regerror",
    "regext",
    "regsyntax",
    "regtrav",
    "regversion",
    "st",
    "unicode",
    "unicode_unfold_key",
    "unicode_fold1_key",
    "unicode_fold2_key",
    "unicode_fold3_key",
    "ascii",
    "utf8",
    "utf16_be",
    "utf16_le",
    "utf32_be",
    "utf32_le",
    "euc_jp",
    "euc_jp_prop",
    "sjis",
    "sjis_prop",
    "iso8859_1",
    "iso8859_2",
    "iso8859_3",
    "iso8859_4",
    "iso8859_5",
    "iso8859_6",
    "iso8859_7",
    "iso8859_8",
    "iso8859_9",
    "iso8859_10",
    "iso8859_11",
    "iso8859_13",
    "iso8859_14",
    "iso8859_15",
    "iso8859_16",
    "euc_tw",
    "euc_kr",
    "big5",
    "gb18030",
    "koi8_r",
    "cp1251",
    "onig_init",
];

const MBEDTLS_FILES: &[&str] = &[
    "aes",
    "asn1parse",
    "asn1write",
    "base64",
    "bignum",
    "bignum_core",
    "block_cipher",
    "ccm",
    "chacha20",
    "chachapoly",
    "cipher",
    "cipher_wrap",
    "constant_time",
    "des",
    "ecdh",
    "ecdsa",
    "ecp",
    "ecp_curves",
    "gcm",
    "md",
    "md5",
    "oid",
    "pem",
    "pk",
    "pk_ecc",
    "pk_wrap",
    "pkcs5",
    "pkparse",
    "pkwrite",
    "platform",
    "platform_util",
    "poly1305",
    "ripemd160",
    "rsa",
    "rsa_alt_helpers",
    "sha1",
    "sha256",
    "sha512",
];

const PNG_FILES: &[&str] = &[
    "png", "pngerror", "pngget", "pngmem", "pngpread", "pngread", "pngrio", "pngrtran", "pngrutil", "pngset",
    "pngtrans", "pngwio", "pngwrite", "pngwtran", "pngwutil",
];

const JPEG_FILES: &[&str] = &[
    "jcapimin",
    "jcapistd",
    "jccoefct",
    "jccolor",
    "jcdctmgr",
    "jchuff",
    "jcicc",
    "jcinit",
    "jcmainct",
    "jcmarker",
    "jcmaster",
    "jcomapi",
    "jcparam",
    "jcphuff",
    "jcprepct",
    "jcsample",
    "jctrans",
    "jdapimin",
    "jdapistd",
    "jdatadst",
    "jdatasrc",
    "jdcoefct",
    "jdcolor",
    "jddctmgr",
    "jdhuff",
    "jdicc",
    "jdinput",
    "jdmainct",
    "jdmarker",
    "jdmaster",
    "jdmerge",
    "jdphuff",
    "jdpostct",
    "jdsample",
    "jdtrans",
    "jerror",
    "jfdctflt",
    "jfdctfst",
    "jfdctint",
    "jidctflt",
    "jidctfst",
    "jidctint",
    "jidctred",
    "jquant1",
    "jquant2",
    "jutils",
    "jmemmgr",
    "jmemnobs",
    "jaricom",
    "jcarith",
    "jdarith",
    "jsimd_none",
];

/// What libzip's build leaves out here: other systems, what needs `dup`, and ciphers and compressions that need further libraries.
const ZIP_LEFT_OUT: &[&str] = &["win32", "uwp", "crypto", "winzip", "bzip2", "xz", "fdopen"];

/// What libcurl's build leaves out here: other systems, and other libraries for TLS, SSH and HTTP/3.
const CURL_LEFT_OUT: &[&str] = &[
    "amigaos",
    "macos",
    "win32",
    "dllmain",
    "sspi",
    "gssapi",
    "vssh/",
    "vquic/curl_",
    "vquic/vquic-tls",
    "vtls/bearssl",
    "vtls/gtls",
    "vtls/mbedtls",
    "vtls/openssl",
    "vtls/schannel",
    "vtls/sectransp",
    "vtls/wolfssl",
];

const CURL_FLAGS: &[&str] = &["-DBUILDING_LIBCURL", "-DCURL_STATICLIB", "-DHAVE_CONFIG_H"];

/// What libsodium's `configure` would find out. Without AES instructions it has no AES-256-GCM, as on many a processor.
const SODIUM_FLAGS: &[&str] = &[
    "-DCONFIGURED=1",
    "-DNATIVE_LITTLE_ENDIAN=1",
    "-DHAVE_EXPLICIT_BZERO=1",
    "-DHAVE_POSIX_MEMALIGN=1",
    "-DHAVE_CLOCK_GETTIME=1",
    "-DSODIUM_STATIC=1",
];

pub(super) fn build(job: &Job<'_>) -> Result<Libraries> {
    let libraries =
        Libraries::build(job, &[&XML, &GMP, &ZIP, &PNG, &JPEG, &SODIUM, &CURL, &MBEDTLS, &icu::ICU])?;
    let own = include(&libraries.folder.join("include")).to_string_lossy().into_owned();
    let flags =
        |more: &[&str]| [OPTIMISED, &[own.as_str()], more].concat().into_iter().map(String::from).collect();
    let archive = |source: &Path, name: &str, files: &[&str], flags: Vec<String>, headers: &[&str]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        libraries.archive(job, source, name, files, &flags, headers)
    };
    let onig = job.crate_sources(ONIGURUMA)?.join("oniguruma/src");
    let config = include(&job.guest.join("libraries/onig")).to_string_lossy().into_owned();
    archive(&onig, "onig", ONIGURUMA_FILES, flags(&[&config]), &["oniguruma.h"])?;
    let png = job.prepare(PNG_TREE.name)?;
    let config = "pnglibconf.h";
    fs::copy(png.join("scripts/pnglibconf.h.prebuilt"), png.join(config))?;
    archive(&png, "png", PNG_FILES, flags(&UNWINDING), &["png.h", "pngconf.h", config])?;
    let jpeg = job.prepare(JPEG_TREE.name)?;
    archive(&jpeg, "jpeg", JPEG_FILES, flags(&[]), &["jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h"])?;
    let zip = job.prepare(ZIP_TREE.name)?.join("lib");
    let files = sources(&zip, |name| !ZIP_LEFT_OUT.iter().any(|part| name.contains(part)))?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let own_folder = include(&zip).to_string_lossy().into_owned();
    archive(&zip, "zip", &files, flags(&[&own_folder]), &["zip.h", "zipconf.h"])?;
    let sodium = job.prepare(SODIUM_TREE.name)?;
    let headers = sodium_headers(&sodium);
    fs::copy(sodium.join("builds/msvc/version.h"), headers.join("sodium/version.h"))?;
    let folders = [&headers.join("sodium"), &headers].map(|one| include(one).to_string_lossy().into_owned());
    let sodium = sodium.join("src/libsodium");
    let files = sources(&sodium, |_| true)?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    archive(&sodium, "sodium", &files, [flags(SODIUM_FLAGS), folders.to_vec()].concat(), &[])?;
    let curl = job.prepare(CURL_TREE.name)?;
    let (headers, curl) = (curl_headers(&curl), curl.join("lib"));
    let files = sources(&curl, |name| !CURL_LEFT_OUT.iter().any(|part| name.contains(part)))?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let folders = [&headers, &curl, &curl.join("vtls"), &job.guest.join("net")];
    let folders = folders.map(|one| include(one).to_string_lossy().into_owned());
    let flags_of_curl = [flags(CURL_FLAGS), system_flags(job), folders.to_vec()].concat();
    archive(&curl, "curl", &files, flags_of_curl, &[])?;
    let mbedtls = job.prepare(MBEDTLS_TREE.name)?;
    let flags = [flags(&[]), mbedtls_flags(job, &mbedtls)].concat();
    archive(&mbedtls.join("library"), "mbedtls", MBEDTLS_FILES, flags, &[])?;
    gmp(job, &libraries)?;
    xml(job, &libraries)?;
    icu::build(job, &libraries)?;
    Ok(libraries)
}

/// What Mbed TLS and those who use it are compiled with: where its headers are, and which of its parts there are.
pub(super) fn mbedtls_flags(job: &Job<'_>, tree: &Path) -> Vec<String> {
    let folders = [tree.join("include"), job.guest.join("libraries/mbedtls")];
    let mut flags: Vec<String> =
        folders.iter().map(|one| include(one).to_string_lossy().into_owned()).collect();
    flags.push("-DMBEDTLS_CONFIG_FILE=<mbedtls_parts.h>".into());
    flags
}

/// What sees the headers that stand for what libc lacks, as PHP does.
fn system_flags(job: &Job<'_>) -> Vec<String> {
    let system = job.guest.join("system/include");
    let own = ["-isystem".into(), system.display().to_string(), "-include".into()];
    let first = system.join("wasi_system.h").display().to_string();
    let emulated = ["-D_WASI_EMULATED_SIGNAL", "-D_WASI_EMULATED_GETPID"];
    [own.to_vec(), vec![first], emulated.map(Into::into).to_vec(), UNWINDING.map(Into::into).to_vec()]
        .concat()
}

/// Where curl's headers are.
pub(super) fn curl_headers(tree: &Path) -> PathBuf {
    tree.join("include")
}

/// Where libsodium's headers are, which name each other by folder.
pub(super) fn sodium_headers(tree: &Path) -> PathBuf {
    tree.join("src/libsodium/include")
}

/// The C files below a folder whose names are `wanted`, without their ending.
fn sources(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let files = tree::files(folder)?;
    let names = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "c"));
    let names = names.filter_map(|file| file.strip_prefix(folder).ok()?.to_str());
    Ok(names.filter(|name| wanted(name)).map(|name| name.trim_end_matches(".c").to_owned()).collect())
}

/// GMP in C alone. Its tables are made by programs for this machine.
fn gmp(job: &Job<'_>, libraries: &Libraries) -> Result<()> {
    let source = job.prepare(GMP_TREE.name)?;
    // Debian leaves the manual out, for whose folder the script asks.
    fs::create_dir_all(source.join("doc"))?;
    fs::write(source.join("doc/Makefile.in"), "all:\n")?;
    let multiply = job.guest.join("libraries/gmp/multiply.h");
    // It is built anew when this file changes.
    let name = format!("gmp-{}", &sha256(&fs::read(&multiply)?)[..8]);
    libraries.configured(job, &name, |folder| {
        let mut configure = Command::new("sh");
        configure.arg("../gmp/configure").current_dir(folder).envs(job.toolchain.environment());
        configure.env(
            "CFLAGS",
            format!(
                "-O2 -DNDEBUG -D_WASI_EMULATED_SIGNAL -include {} {}",
                multiply.display(),
                prefix_map(job)
            ),
        );
        configure.env("CC_FOR_BUILD", "cc").env("ac_cv_func_raise", "yes");
        // To its script WASI is a system without a name.
        configure.args(["--build=x86_64-linux-gnu", "--host=none-none-none"]);
        configure.args(["--disable-assembly", "--disable-shared", "--enable-alloca=malloc-reentrant"]);
        configure.arg(format!("--prefix={}", libraries.folder.display()));
        job.run("configure GMP", &mut configure)?;
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(folder).arg(format!("-j{jobs}"));
        job.run("make GMP", &mut make)?;
        let library = libraries.folder.join("lib/libgmp.a");
        fs::copy(folder.join(".libs/libgmp.a"), library)?;
        fs::copy(folder.join("gmp.h"), libraries.folder.join("include/gmp.h"))?;
        Ok(())
    })
}

/// Paths of this machine do not get into the guest.
fn prefix_map(job: &Job<'_>) -> String {
    format!("-ffile-prefix-map={}=/usr/src", job.scratch.display())
}

/// libxml2, which has a configuration of its own.
fn xml(job: &Job<'_>, libraries: &Libraries) -> Result<()> {
    let source = job.prepare(XML_TREE.name)?;
    libraries.configured(job, "libxml2", |folder| {
        let mut configure = Command::new("sh");
        configure.arg(source.join("configure")).current_dir(folder).envs(job.toolchain.environment());
        configure.env("CFLAGS", format!("-O2 -D_WASI_EMULATED_PROCESS_CLOCKS {}", prefix_map(job)));
        // Its script is older than WASI and knows no such system; that the two differ is all it needs to know.
        configure.args(["--build=x86_64-linux-gnu", "--host=i686-linux-gnu", "--disable-shared"]);
        configure.arg(format!("--prefix={}", libraries.folder.display())).arg("--with-iconv");
        let parts = ["threads", "python", "zlib", "lzma", "http", "ftp", "modules", "debug", "legacy"];
        configure.args(parts.map(|part| format!("--without-{part}")));
        job.run("configure libxml2", &mut configure)?;
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(folder).arg(format!("-j{jobs}"));
        job.run("make libxml2", make.arg("install-libLTLIBRARIES"))?;
        let mut headers = Command::new("make");
        job.run("install libxml2's headers", headers.current_dir(folder.join("include")).arg("install"))
    })
}
