//! The recipe of the JavaScript guest: QuickJS-ng with our driver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::job::{Job, Unit};
use super::recipe::{Pin, Recipe};
use super::tree::Edit;
use super::wizer::{World, argument};

/// QuickJS-ng; its C sources ride in the package rquickjs-sys.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "javascript",
    interpreter: "QuickJS-ng 0.16.2",
    version: 1,
    text: include_bytes!("javascript.rs"),
    pins: &[Pin::Crate("rquickjs-sys")],
    build,
};

/// The C stack. The interpreter's own limit lies below it, so that deep recursion is an error of the language.
const STACK: u32 = 8 << 20;

/// The interpreter's stack check is off on WASI, its random numbers are seeded when the runtime is made, and it
/// refuses to declare a global anew; a pre-initialised interpreter that runs snippet after snippet needs the opposite.
const EDITS: &[Edit] = &[
    Edit {
        file: "quickjs.c",
        find: "#if defined(__wasi__)\n    rt->stack_limit = 0; /* no limit */\n#else\n",
        replace: "#if 1\n",
        count: 1,
    },
    Edit {
        file: "quickjs.c",
        find: "    v = xorshift64star(&ctx->random_state);\n",
        replace: "    if (!ctx->random_state)\n        ctx->random_state = driver_random_seed();\n    v = xorshift64star(&ctx->random_state);\n",
        count: 1,
    },
    Edit {
        file: "quickjs.c",
        find: "        if (prs && !(prs->flags & JS_PROP_CONFIGURABLE))\n            goto fail_redeclaration;\n",
        replace: "        if (prs && !(prs->flags & (JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE)))\n            goto fail_redeclaration;\n",
        count: 1,
    },
    Edit {
        file: "quickjs.c",
        find: "    if (prs) {\n    fail_redeclaration:\n",
        replace: "    if (prs) {\n        return delete_property(ctx, p, prop) < 0 ? -1 : 0;\n    fail_redeclaration:\n",
        count: 1,
    },
];

/// Parts of the interpreter that are compiled as they are.
const ENGINE: [&str; 3] = ["dtoa", "libregexp", "libunicode"];

/// Our own C files.
const DRIVER: [&str; 7] = ["start", "interpreter", "run", "encode", "raise", "modules", "natives"];

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let quickjs = job.copy(&job.crate_sources("rquickjs-sys")?.join("quickjs"), "quickjs", EDITS)?;
    let bindings = job.bindings()?;
    let include = |folder: &Path| {
        let mut flag = OsString::from("-I");
        flag.push(folder);
        flag
    };
    let includes = [&bindings.headers, &job.driver, &quickjs, &job.guest].map(|folder| include(folder));
    let flags: Vec<OsString> = ["-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-std=gnu23"]
        .map(OsString::from)
        .into_iter()
        .chain(includes)
        .collect();
    let unit = |folder: &Path, name: &str, flags: &[&str]| Unit {
        source: folder.join(format!("{name}.c")),
        object: job.scratch.join("objects").join(format!("{name}.o")),
        flags: flags.iter().map(OsString::from).collect(),
    };
    // The largest file comes first, so that it does not run alone at the end.
    let mut units = vec![unit(&job.guest, "engine", &["-w"])];
    units.extend(ENGINE.iter().map(|name| unit(&quickjs, name, &["-w"])));
    units.push(unit(&bindings.headers, "guest", &["-w"]));
    units.push(unit(&job.driver, "state", &["-Wall", "-Wextra"]));
    units.extend(DRIVER.iter().map(|name| unit(&job.guest, name, &["-Wall", "-Wextra"])));
    job.compile("compile", &units, &flags)?;
    let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
    inputs.push(argument(&bindings.object));
    let core = job.link("javascript", STACK, &inputs)?;
    job.initialise(&core, &World::default())
}
