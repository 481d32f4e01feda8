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
    // Of an error that cannot be made for want of memory, only a null is left. The driver has to tell it from others.
    edit(
        "        /* out of memory: throw JS_NULL to avoid recursing */\n",
        "        engine_error_lost = true;\n",
    ),
    // An error knows in which snippet it was raised; snippets can share a name.
    edit(
        "    char *source;\n} JSFunctionBytecode;\n",
        "    char *source;\n    uint32_t evaluation;\n} JSFunctionBytecode;\n",
    ),
    edit(
        "    b->source = fd->source;\n",
        "    b->source = fd->source;\n    b->evaluation = engine_evaluation;\n",
    ),
    edit(
        "        JSValue object_data;    /* for JS_SetObjectData(): 8/16/16 bytes */\n",
        "        struct {\n            JSValue object_data;\n            uint32_t evaluation;\n        };\n",
    ),
    edit(
        "    rt->in_build_stack_trace = true;\n",
        "    rt->in_build_stack_trace = true;\n    uint32_t evaluation = filename ? engine_evaluation : 0;\n",
    ),
    // What is compiled from a text at run time has the name `<input>` and is no place in a snippet.
    edit(
        "            backtrace_barrier = b->backtrace_barrier;\n",
        "            backtrace_barrier = b->backtrace_barrier;\n            char of[ATOM_GET_STR_BUF_SIZE];\n\
         \x20           if (!evaluation && b->evaluation &&\n\
         \x20               strcmp(JS_AtomGetStrRT(rt, of, sizeof(of), b->filename), \"<input>\") != 0)\n\
         \x20               evaluation = b->evaluation;\n",
    ),
    edit(
        "    JS_FreeValue(ctx, error_obj);\n    rt->in_build_stack_trace = false;\n",
        "    if (JS_GetClassID(error_obj) == JS_CLASS_ERROR)\n\
         \x20       JS_VALUE_GET_OBJ(error_obj)->u.evaluation = evaluation;\n\
         \x20   JS_FreeValue(ctx, error_obj);\n    rt->in_build_stack_trace = false;\n",
    ),
    // Code knows whether it is a snippet's own, or was made by a snippet from a text: that is what may be refused.
    edit(
        "    uint32_t evaluation;\n} JSFunctionBytecode;\n",
        "    uint32_t evaluation;\n    bool of_snippet;\n} JSFunctionBytecode;\n",
    ),
    edit(
        "    b->evaluation = engine_evaluation;\n",
        "    b->evaluation = engine_evaluation;\n    b->of_snippet = compiling_snippet;\n",
    ),
    edit(
        "    fun_obj = js_create_function(ctx, fd);\n",
        "    compiling_snippet = (flags & ENGINE_EVAL_SNIPPET) != 0;\n    fun_obj = js_create_function(ctx, fd);\n",
    ),
    edit(
        "        return js_dup(val);\n    str = JS_ToCStringLen(ctx, &len, val);\n",
        "        return js_dup(val);\n    if (!may_compile(ctx, &flags))\n        return JS_EXCEPTION;\n\
         \x20   str = JS_ToCStringLen(ctx, &len, val);\n",
    ),
    edit(
        "    X(Internal, INTERNAL)   \\\n",
        "    X(Eval, EVAL)           \\\n    X(Internal, INTERNAL)   \\\n",
    ),
    // An import in code that was made from a text begins at the file of whoever runs it.
    edit("    basename = JS_GetScriptOrModuleName(ctx, 0);\n", "    basename = importing_file(ctx);\n"),
    // The place of `new` is that of its class, even when the arguments have calls of their own.
    edit(
        "            emit_source_loc(s);\n            if (js_parse_postfix_expr(s, 0))\n",
        "            new_line = s->token.line_num;\n            new_column = s->token.col_num;\n\
         \x20           emit_source_loc(s);\n            if (js_parse_postfix_expr(s, 0))\n",
    ),
    edit(
        "js_parse_postfix_expr(JSParseState *s, int parse_flags)\n{\n",
        "js_parse_postfix_expr(JSParseState *s, int parse_flags)\n{\n    int new_line = 0, new_column = 0;\n",
    ),
    edit(
        "                    } else if (call_type == FUNC_CALL_NEW) {\n                        emit_op(",
        "                    } else if (call_type == FUNC_CALL_NEW) {\n\
         \x20                       emit_source_loc_at(s, new_line, new_column);\n                        emit_op(",
    ),
    // A stack text names a method with the class of its object, as Node's does.
    edit(
        "    bool is_constructor; /* true if invoked as a constructor (new) */\n",
        "    bool is_constructor; /* true if invoked as a constructor (new) */\n\
         \x20   JSValueConst this_obj; /* of a function in bytecode */\n",
    ),
    edit(
        "    sf->cur_func = unsafe_unconst(func_obj);\n    var_refs = p->u.func.var_refs;\n",
        "    sf->cur_func = unsafe_unconst(func_obj);\n    sf->this_obj = this_obj;\n\
         \x20   var_refs = p->u.func.var_refs;\n",
    ),
    edit(
        "            sf->prev_frame = rt->current_stack_frame;\n            rt->current_stack_frame = sf;\n\
         \x20           if (s->throw_flag)\n",
        "            sf->prev_frame = rt->current_stack_frame;\n            rt->current_stack_frame = sf;\n\
         \x20           sf->this_obj = this_obj;\n            if (s->throw_flag)\n",
    ),
    edit(
        "            dbuf_printf(&dbuf, \"    at %s\", str1);\n",
        "            dbuf_printf(&dbuf, \"    at \");\n            if (b && str1 == func_name_str)\n\
         \x20               print_receiver(ctx, sf, &dbuf);\n            dbuf_printf(&dbuf, \"%s\", str1);\n",
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
const DRIVER: [&str; 14] = [
    "text",
    "start",
    "interpreter",
    "run",
    "sources",
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
