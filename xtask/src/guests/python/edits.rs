//! The changes to CPython's sources.

use crate::guests::tree::Edit;

/// A random generator that is seeded from the system is seeded when it is first used, so that each instance of the
/// image gets its own numbers; those that seeded themselves are in a list, so that each instance of a saved state gets
/// its own, too (driver.c asks for that). A module may return the value of its last expression. The file name of code stays the
/// object that the compiler was given, which tells snippets of one name apart. And running code writes less to its
/// own bytes, so that an instance copies fewer pages of the image: a counter can be stopped (image.c does it), and
/// branches are not recorded, which only a just-in-time compiler reads. Destructors nest to a fixed depth: CPython
/// watches the C stack, of which they use little, while the stack of calls that the host keeps would overflow. Code knows
/// whose it is, in a field that only builds without the GIL use, and the driver is asked before code is made from text
/// (origin.c).
pub(super) const EDITS: &[Edit] = &[
    Edit {
        file: "Modules/_randommodule.c",
        find: "typedef struct {\n    PyObject_HEAD\n    int index;\n    uint32_t state[N];\n} RandomObject;\n",
        replace: "typedef struct RandomObject {
    PyObject_HEAD
    int index;
    uint32_t state[N];
    /* The list of generators that drew their seed themselves; `link` is what points here, NULL: not in it. */
    struct RandomObject *next, **link;
} RandomObject;
",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "/* generates a random number on [0,0xffffffff]-interval */\n",
        replace: "#define UNSEEDED (N + 2)\n\nstatic void seed_if_needed(RandomObject *self);\n\n/* generates a random number on [0,0xffffffff]-interval */\n",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "        int kk;\n\n",
        replace: "        int kk;\n\n        seed_if_needed(self);\n",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "static int\nrandom_seed(RandomObject *self, PyObject *arg)\n{\n",
        replace: "static RandomObject *self_seeded;

static void
enter_self_seeded(RandomObject *self)
{
    self->next = self_seeded;
    if (self->next != NULL) {
        self->next->link = &self->next;
    }
    self->link = &self_seeded;
    self_seeded = self;
}

static void
leave_self_seeded(RandomObject *self)
{
    if (self->link == NULL) {
        return;
    }
    *self->link = self->next;
    if (self->next != NULL) {
        self->next->link = self->link;
    }
    self->link = NULL;
}

static void
seed_if_needed(RandomObject *self)
{
    if (self->index != UNSEEDED) {
        return;
    }
    if (random_seed_urandom(self) < 0) {
        PyErr_Clear();
        if (random_seed_time_pid(self) < 0) {
            PyErr_Clear();
            init_genrand(self, 5489U);
        }
    }
    leave_self_seeded(self);
    enter_self_seeded(self);
}

static void
random_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    leave_self_seeded(RandomObject_CAST(op));
    type->tp_free(op);
    Py_DECREF(type);
}

/* Of the driver: every generator that drew its seed itself draws another one when it is next used. */
extern void _PyRandom_Reseed(void);

void
_PyRandom_Reseed(void)
{
    while (self_seeded != NULL) {
        RandomObject *self = (RandomObject *)Py_NewRef(self_seeded);
        leave_self_seeded(self);
        self->index = UNSEEDED;
        /* What random.Random.gauss() has drawn and not given yet. */
        PyObject *dict = PyObject_GenericGetDict((PyObject *)self, NULL);
        if (dict != NULL && PyDict_ContainsString(dict, \"gauss_next\") > 0) {
            PyDict_SetItemString(dict, \"gauss_next\", Py_None);
        }
        PyErr_Clear();
        Py_XDECREF(dict);
        Py_DECREF(self);
    }
}

static int
random_seed(RandomObject *self, PyObject *arg)
{
",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "       if (random_seed_urandom(self) < 0) {
            PyErr_Clear();

            /* Reading system entropy failed, fall back on the worst entropy:
               use the current time and process identifier. */
            if (random_seed_time_pid(self) < 0) {
                return -1;
            }
        }
        return 0;
",
        replace: "        self->index = UNSEEDED;\n        leave_self_seeded(self);\n        return 0;\n",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "    init_by_array(self, key, keyused);\n",
        replace: "    init_by_array(self, key, keyused);\n    leave_self_seeded(self);\n",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "    state = PyTuple_New(N+1);\n",
        replace: "    seed_if_needed(self);\n    state = PyTuple_New(N+1);\n",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "    self->index = (int)index;\n    for (i = 0; i < N; i++)\n",
        replace: "    self->index = (int)index;\n    leave_self_seeded(self);\n    for (i = 0; i < N; i++)\n",
        count: 1,
    },
    Edit {
        file: "Modules/_randommodule.c",
        find: "    {Py_tp_free, PyObject_Free},\n",
        replace: "    {Py_tp_dealloc, random_dealloc},\n    {Py_tp_free, PyObject_Free},\n",
        count: 1,
    },
    Edit {
        file: "Include/cpython/compile.h",
        find: "#define PyCF_ALLOW_TOP_LEVEL_AWAIT 0x2000\n",
        replace: "#define PyCF_ALLOW_TOP_LEVEL_AWAIT 0x2000\n#define PyCF_RETURN_LAST_VALUE 0x40000000\n",
        count: 1,
    },
    Edit {
        file: "Python/compile.c",
        find: "static int\ncompiler_codegen(compiler *c, mod_ty mod)\n{\n",
        replace: "/* The expression whose value a module returns, or NULL. */
static expr_ty
compiler_last_value(compiler *c, mod_ty mod)
{
    if (!(c->c_flags.cf_flags & PyCF_RETURN_LAST_VALUE) || mod->kind != Module_kind) {
        return NULL;
    }
    Py_ssize_t length = asdl_seq_LEN(mod->v.Module.body);
    stmt_ty last = length ? (stmt_ty)asdl_seq_GET(mod->v.Module.body, length - 1) : NULL;
    return last && last->kind == Expr_kind ? last->v.Expr.value : NULL;
}

static int
compiler_codegen(compiler *c, mod_ty mod)
{
",
        count: 1,
    },
    Edit {
        file: "Python/compile.c",
        find: "        asdl_stmt_seq *stmts = mod->v.Module.body;\n        RETURN_IF_ERROR(",
        replace: "        asdl_stmt_seq *stmts = mod->v.Module.body;
        expr_ty last = compiler_last_value(c, mod);
        if (last) {
            location start = start_location(stmts);
            stmts->size--;
            int result = _PyCodegen_Module(c, start, stmts, true);
            stmts->size++;
            RETURN_IF_ERROR(result);
            RETURN_IF_ERROR(_PyCodegen_Expression(c, last));
            break;
        }
        RETURN_IF_ERROR(",
        count: 1,
    },
    Edit {
        file: "Python/compile.c",
        find: "    int addNone = mod->kind != Expression_kind;\n    assert(",
        replace: "    int addNone = mod->kind != Expression_kind && !compiler_last_value(c, mod);\n    assert(",
        count: 1,
    },
    Edit {
        file: "Objects/codeobject.c",
        find: "    _PyUnicode_InternMortal(interp, &co->co_filename);\n",
        replace: "",
        count: 1,
    },
    Edit {
        file: "Include/internal/pycore_code.h",
        find: "struct _PyCodeConstructor {\n",
        replace: "/* Of the driver: whose code is being made, and whether (0) code may be made from text. NULL: not asked. */
extern Py_ssize_t (*_PyCode_Origin)(void);
extern int (*_PyCode_MayMake)(const char *how);

struct _PyCodeConstructor {
",
        count: 1,
    },
    Edit {
        file: "Objects/codeobject.c",
        find: "static int\ninit_code(PyCodeObject *co, struct _PyCodeConstructor *con)\n{\n",
        replace: "Py_ssize_t (*_PyCode_Origin)(void);
int (*_PyCode_MayMake)(const char *how);

static int
init_code(PyCodeObject *co, struct _PyCodeConstructor *con)
{
    co->_co_unique_id = _PyCode_Origin ? _PyCode_Origin() : 0;
",
        count: 1,
    },
    Edit {
        file: "Objects/codeobject.c",
        find: "    PyObject *ourcellvars = NULL;\n\n    if (PySys_Audit(\"code.__new__\"",
        replace: "    PyObject *ourcellvars = NULL;

    if (_PyCode_MayMake && _PyCode_MayMake(\"code\") < 0) {
        return NULL;
    }
    if (PySys_Audit(\"code.__new__\"",
        count: 1,
    },
    Edit {
        file: "Objects/codeobject.c",
        find: "    PyObject *code = NULL;\n    if (co_code == NULL) {\n",
        replace: "    PyObject *code = NULL;
    if (co_code != NULL && _PyCode_MayMake && _PyCode_MayMake(\"code.replace\") < 0) {
        return NULL;
    }
    if (co_code == NULL) {
",
        count: 1,
    },
    Edit {
        file: "Objects/codeobject.c",
        find: "        co_linetable, co_exceptiontable);\n\nerror:\n    Py_XDECREF(code);\n",
        replace: "        co_linetable, co_exceptiontable);
    if (co) {
        co->_co_unique_id = self->_co_unique_id;
    }

error:
    Py_XDECREF(code);
",
        count: 1,
    },
    Edit {
        file: "Python/bltinmodule.c",
        find: "#include \"pycore_ceval.h\"",
        replace: "#include \"pycore_code.h\"\n#include \"pycore_ceval.h\"",
        count: 1,
    },
    Edit {
        file: "Python/bltinmodule.c",
        find: "    PyObject *result;\n\n    PyCompilerFlags cf = _PyCompilerFlags_INIT;\n    cf.cf_flags = flags | PyCF_SOURCE_IS_UTF8;\n",
        replace: "    PyObject *result;

    if (_PyCode_MayMake && _PyCode_MayMake(\"compile\") < 0) {
        return NULL;
    }
    PyCompilerFlags cf = _PyCompilerFlags_INIT;
    cf.cf_flags = flags | PyCF_SOURCE_IS_UTF8;
",
        count: 1,
    },
    Edit {
        file: "Python/bltinmodule.c",
        find: "    PyObject *result = NULL, *source_copy;\n    const char *str;\n\n",
        replace: "    PyObject *result = NULL, *source_copy;
    const char *str;

    if (_PyCode_MayMake && _PyCode_MayMake(\"eval\") < 0) {
        return NULL;
    }
",
        count: 1,
    },
    Edit {
        file: "Python/bltinmodule.c",
        find: "    PyThreadState *tstate = _PyThreadState_GET();\n    PyObject *v;\n\n    int fromframe = 0;\n",
        replace: "    PyThreadState *tstate = _PyThreadState_GET();
    PyObject *v;

    if (_PyCode_MayMake && _PyCode_MayMake(\"exec\") < 0) {
        return NULL;
    }
    int fromframe = 0;
",
        count: 1,
    },
    Edit {
        file: "Python/marshal.c",
        find: "            idx = r_ref_reserve(flag, p);\n            if (idx < 0)\n                break;\n\n            v = NULL;\n",
        replace: "            if (_PyCode_MayMake && _PyCode_MayMake(\"marshal.loads\") < 0)
                break;
            idx = r_ref_reserve(flag, p);
            if (idx < 0)
                break;

            v = NULL;
",
        count: 1,
    },
    Edit {
        file: "Python/ceval_macros.h",
        find: "        (COUNTER) = advance_backoff_counter((COUNTER)); \\\n",
        replace: "        if (!is_unreachable_backoff_counter((COUNTER))) { \\\n            (COUNTER) = advance_backoff_counter((COUNTER)); \\\n        } \\\n",
        count: 1,
    },
    Edit {
        file: "Python/ceval_macros.h",
        find: "#define RECORD_BRANCH_TAKEN(bitset, flag) \\\n    FT_ATOMIC_STORE_UINT16_RELAXED(       \\\n        bitset, (FT_ATOMIC_LOAD_UINT16_RELAXED(bitset) << 1) | (flag))\n",
        replace: "#define RECORD_BRANCH_TAKEN(bitset, flag) ((void)(flag))\n",
        count: 1,
    },
    Edit {
        file: "Objects/object.c",
        find: "    intptr_t margin = _Py_RecursionLimit_GetMargin(tstate);\n    if (margin < 2 && gc_flag) {\n",
        replace: "    static int depth, destroying;\n    intptr_t margin = depth < 500 ? _Py_RecursionLimit_GetMargin(tstate) : 0;\n    if (margin < 2 && gc_flag) {\n",
        count: 1,
    },
    Edit {
        file: "Objects/object.c",
        find: "    _PyReftracerTrack(op, PyRefTracer_DESTROY);\n    (*dealloc)(op);\n\n#ifdef Py_DEBUG",
        replace: "    _PyReftracerTrack(op, PyRefTracer_DESTROY);\n    depth++;\n    (*dealloc)(op);\n    depth--;\n\n#ifdef Py_DEBUG",
        count: 1,
    },
    Edit {
        file: "Objects/object.c",
        find: "    if (tstate->delete_later && margin >= 4 && gc_flag) {\n        _PyTrash_thread_destroy_chain(tstate);\n",
        replace: "    if (tstate->delete_later && margin >= 4 && gc_flag && !destroying) {\n        destroying = 1;\n        _PyTrash_thread_destroy_chain(tstate);\n        destroying = 0;\n",
        count: 1,
    },
];
