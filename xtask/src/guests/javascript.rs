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
const STACK: u32 = 5 << 20;

/// Changes to the interpreter, which was not made to be pre-initialised and to run snippet after snippet.
const EDITS: &[Edit] = &[
    // Its stack check is off on WASI; without it, deep recursion is a trap that ends the instance.
    edit("#if defined(__wasi__)\n    rt->stack_limit = 0; /* no limit */\n#else\n", "#if 1\n"),
    // The parser recurses through functions that use more of the engine's stack than of the C stack, which is the
    // one that is checked. The padding (engine.c) makes the C stack the first to end.
    edit(
        "js_parse_unary(JSParseState *s, int parse_flags)\n{\n",
        "js_parse_unary(JSParseState *s, int parse_flags)\n{\n    STACK_PADDING;\n",
    ),
    edit(
        "js_parse_assign_expr2(JSParseState *s, int parse_flags)\n{\n",
        "js_parse_assign_expr2(JSParseState *s, int parse_flags)\n{\n    STACK_PADDING;\n",
    ),
    edit(
        "                                                  int decl_mask)\n{\n",
        "                                                  int decl_mask)\n{\n    STACK_PADDING;\n",
    ),
    // So do proxies of proxies.
    Edit {
        file: "quickjs.c",
        find: "    s = get_proxy_method(ctx, &method",
        replace: "    STACK_PADDING;\n    s = get_proxy_method(ctx, &method",
        count: 13,
    },
    // A chain of iterator helpers is not checked at all.
    edit(
        "    bool finished;\n    JSValue ret;\n\n    *pdone = false;\n",
        "    bool finished;\n    JSValue ret;\n    STACK_PADDING;\n\n    *pdone = false;\n\
         \x20   if (js_check_stack_overflow(ctx->rt, 0))\n        return JS_ThrowStackOverflow(ctx);\n",
    ),
    // Random numbers are seeded when the context is made; they must be when an instance first wants one.
    edit(
        "    v = xorshift64star(&ctx->random_state);\n",
        "    if (!ctx->random_state)\n        ctx->random_state = driver_random_seed();\n\
         \x20   v = xorshift64star(&ctx->random_state);\n",
    ),
    // Each snippet may declare a global anew, as in any REPL.
    edit(
        "        if (prs && !(prs->flags & JS_PROP_CONFIGURABLE))\n            goto fail_redeclaration;\n",
        "        if (prs && !(prs->flags & (JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE)))\n\
         \x20           goto fail_redeclaration;\n",
    ),
    edit(
        "    if (prs) {\n    fail_redeclaration:\n",
        "    if (prs) {\n        return delete_property(ctx, p, prop) < 0 ? -1 : 0;\n    fail_redeclaration:\n",
    ),
    // A snippet may `return` its value.
    edit(
        "        if (s->cur_func->is_eval) {\n            js_parse_error(s, \"return not in a function\");\n",
        "        if (s->cur_func->is_eval && !may_return(s)) {\n\
         \x20           js_parse_error(s, \"return not in a function\");\n",
    ),
    edit(
        "s->token.val != ';' && s->token.val != '}' && !s->got_lf) {\n            if (js_parse_expr(s))\n                goto fail;\n            emit_return(s, true);\n        } else {\n",
        "s->token.val != ';' && s->token.val != '}' && s->token.val != TOK_EOF && !s->got_lf) {\n\
         \x20           if (js_parse_expr(s))\n                goto fail;\n            if (s->cur_func->is_eval)\n\
         \x20               emit_result(s);\n            emit_return(s, true);\n\
         \x20       } else if (s->cur_func->is_eval) {\n            emit_op(s, OP_undefined);\n\
         \x20           emit_result(s);\n            emit_return(s, true);\n        } else {\n",
    ),
    edit(
        "static __exception int js_parse_statement(JSParseState *s)\n{\n",
        "static bool may_return(JSParseState *s)\n{\n\
         \x20   return !s->is_module && s->cur_func->eval_type == JS_EVAL_TYPE_GLOBAL;\n}\n\n\
         static void emit_result(JSParseState *s)\n{\n\
         \x20   if (s->cur_func->func_kind != JS_FUNC_ASYNC)\n        return;\n\
         \x20   emit_op(s, OP_put_loc);\n    emit_u16(s, s->cur_func->eval_ret_idx);\n\
         \x20   emit_op(s, OP_object);\n    emit_op(s, OP_dup);\n    emit_op(s, OP_get_loc);\n\
         \x20   emit_u16(s, s->cur_func->eval_ret_idx);\n    emit_op(s, OP_put_field);\n\
         \x20   emit_atom(s, JS_ATOM_value);\n}\n\n\
         static __exception int js_parse_statement(JSParseState *s)\n{\n",
    ),
];

const fn edit(find: &'static str, replace: &'static str) -> Edit {
    Edit { file: "quickjs.c", find, replace, count: 1 }
}

/// Parts of the interpreter that are compiled as they are.
const ENGINE: [&str; 3] = ["dtoa", "libregexp", "libunicode"];

/// Our own C files.
const DRIVER: [&str; 13] = [
    "text",
    "start",
    "interpreter",
    "run",
    "timers",
    "encode",
    "scalars",
    "describe",
    "raise",
    "vars",
    "modules",
    "natives",
    "files",
];

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
