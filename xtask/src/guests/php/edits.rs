//! The changes to PHP's sources.

use crate::guests::tree::Edit;

/// Integers have 64 bits, as PHP has them everywhere else, although an address has 32. The monotonic clock and
/// `getrandom` exist, though the headers do not say it the usual way. The environment is read when it is asked for. The
/// bounds of the C stack come from the driver, which also opens a reserve before PHP reports that memory ran out. What
/// PHP was built on is not told. Two functions that recurse without a check get the one that PHP has elsewhere, and a
/// failed `malloc` is a fatal error, not the end of the process. Fibers need stacks of their own, so they are refused in words.
/// A compressed file shares its descriptor with the stream below it, since none can be duplicated: who closes second
/// finds it closed. Inode numbers are hashes of 64 bits without a sign, which an integer of PHP's has. A phar sets the mode of what it
/// extracts, and no file has one.
pub(super) const EDITS: &[Edit] = &[
    Edit {
        file: "Zend/zend_long.h",
        find: "#if defined(__x86_64__) ||",
        replace: "#if defined(__wasi__) || defined(__x86_64__) ||",
        count: 1,
    },
    Edit {
        file: "ext/date/lib/timelib.h",
        find: "#if (defined(__x86_64__) ||",
        replace: "#if (defined(__wasi__) || defined(__x86_64__) ||",
        count: 1,
    },
    Edit {
        file: "Zend/zend_hrtime.h",
        find: "#if defined(_POSIX_TIMERS) &&",
        replace: "#if defined(__wasi__) || defined(_POSIX_TIMERS) &&",
        count: 1,
    },
    Edit {
        file: "ext/random/csprng.c",
        find: "defined(__midipix__)",
        replace: "defined(__wasi__)",
        count: 2,
    },
    Edit {
        file: "main/php_variables.c",
        find: "char **env = environ;",
        replace: "char **env = __wasilibc_get_environ();",
        count: 1,
    },
    Edit {
        file: "ext/standard/basic_functions.c",
        find: "env = environ;",
        replace: "env = __wasilibc_get_environ();",
        count: 2,
    },
    Edit {
        file: "Zend/zend_call_stack.c",
        find: "	return false;\n}\n\n#endif /* ZEND_CHECK_STACK_LIMIT */",
        replace: "	extern void driver_call_stack(void **base, size_t *size);\n\
                  	driver_call_stack(&stack->base, &stack->max_size);\n\
                  	return true;\n}\n\n#endif /* ZEND_CHECK_STACK_LIMIT */",
        count: 1,
    },
    Edit {
        file: "Zend/zend_alloc.c",
        find: "	heap->overflow = 1;\n	zend_try {",
        replace: "	extern void driver_open_reserve(void);\n	driver_open_reserve();\n	heap->overflow = 1;\n	zend_try {",
        count: 1,
    },
    Edit {
        file: "Zend/zend_alloc.c",
        find: "	fprintf(stderr, \"Out of memory\\n\");\n	exit(1);\n",
        replace: "	extern void driver_open_reserve(void);\n	driver_open_reserve();\n	zend_error_noreturn(E_ERROR, \"Out of memory\");\n",
        count: 1,
    },
    Edit {
        file: "ext/standard/info.c",
        find: "env=environ;",
        replace: "env = __wasilibc_get_environ();",
        count: 1,
    },
    Edit {
        file: "ext/standard/var_unserializer.c",
        find: "	if (YYCURSOR >= YYLIMIT) {\n		return 0;\n	}\n\n	if (var_hash && (*p)[0] != 'R') {\n",
        replace: "	if (zend_call_stack_overflowed(EG(stack_limit))) {\n		zend_call_stack_size_error();\n		return 0;\n	}\n	if (YYCURSOR >= YYLIMIT) {\n		return 0;\n	}\n\n	if (var_hash && (*p)[0] != 'R') {\n",
        count: 1,
    },
    Edit {
        file: "ext/standard/array.c",
        find: "	if (zend_hash_num_elements(target_hash) == 0) {\n		return result;\n	}\n\n	/* Set up known arguments */\n",
        replace: "	if (zend_call_stack_overflowed(EG(stack_limit))) {\n		zend_call_stack_size_error();\n		return FAILURE;\n	}\n	if (zend_hash_num_elements(target_hash) == 0) {\n		return result;\n	}\n\n	/* Set up known arguments */\n",
        count: 1,
    },
    Edit {
        file: "main/build-defs.h.in",
        find: "#define CONFIGURE_COMMAND \"@CONFIGURE_COMMAND@\"",
        replace: "#define CONFIGURE_COMMAND \"cargo xtask guests php\"",
        count: 1,
    },
    Edit {
        file: "Zend/zend_fibers.c",
        find: "zend_throw_exception_ex(NULL, 0, \"Fiber stack allocate failed: mmap failed: %s (%d)\", strerror(errno), errno);",
        replace: "zend_throw_error(zend_ce_fiber_error, \"fibers cannot run in this sandbox: it has one stack\");",
        count: 1,
    },
    Edit {
        file: "configure",
        find: "  PHP_UNAME=$(uname -a | xargs)\n",
        replace: "  PHP_UNAME='WASI dormouse 0.1 wasm32'\n",
        count: 1,
    },
    Edit { file: "configure", find: "PHP_OS=$(uname | xargs)\n", replace: "PHP_OS=WASI\n", count: 1 },
    Edit {
        file: "ext/zlib/zlib_fopen_wrapper.c",
        find: "gzdopen(dup(fd), mode)",
        replace: "gzdopen(fd, mode)",
        count: 1,
    },
    Edit {
        file: "ext/standard/filestat.c",
        find: "RETURN_LONG((zend_long)stat_sb->st_ino);",
        replace: "RETURN_LONG((zend_long)(stat_sb->st_ino & ZEND_LONG_MAX));",
        count: 1,
    },
    Edit {
        file: "ext/standard/filestat.c",
        find: "ZVAL_LONG(&stat_ino, stat_sb->st_ino);",
        replace: "ZVAL_LONG(&stat_ino, stat_sb->st_ino & ZEND_LONG_MAX);",
        count: 1,
    },
    Edit {
        file: "ext/standard/file.c",
        find: "ZVAL_LONG(&stat_ino, stat_ssb.sb.st_ino);",
        replace: "ZVAL_LONG(&stat_ino, stat_ssb.sb.st_ino & ZEND_LONG_MAX);",
        count: 1,
    },
    Edit {
        file: "ext/phar/phar_object.c",
        find: "FAILURE == VCWD_CHMOD(fullpath, mode)",
        replace: "FAILURE == VCWD_CHMOD(fullpath, mode) && errno != ENOSYS && errno != ENOTSUP",
        count: 1,
    },
    // What needs a process or a network says that there is none, in the words of the other languages (`system/absent.c`).
    Edit {
        file: "main/network.c",
        find: "	if (host == NULL) {\n		return 0;\n	}\n#ifdef HAVE_GETADDRINFO\n	memset(",
        replace: "	if (host == NULL) {\n		return 0;\n	}\n	if (error_string) {\n		if (*error_string) {\n			zend_string_release_ex(*error_string, 0);\n		}\n		*error_string = ZSTR_INIT_LITERAL(DRIVER_NO_NETWORK, 0);\n	} else {\n		php_error_docref(NULL, E_WARNING, DRIVER_NO_NETWORK);\n	}\n	return 0;\n#ifdef HAVE_GETADDRINFO\n	memset(",
        count: 1,
    },
    Edit {
        file: "main/network.c",
        find: "(int) strerror_r(err, ",
        replace: "driver_socket_error(err, ",
        count: 3,
    },
    Edit {
        file: "main/network.c",
        find: "#include \"php.h\"\n",
        replace: "#include \"php.h\"\n\n#define DRIVER_NO_NETWORK \"no network in this sandbox\"\nextern int driver_socket_error(long error, char *text, size_t room);\n",
        count: 1,
    },
    Edit {
        file: "main/streams/streams.c",
        find: "				php_error_docref(NULL, E_WARNING, \"Unable to find the wrapper \\\"%s\\\" - did you forget to enable it when you configured PHP?\", wrapper_name);",
        replace: "				extern const char *driver_no_wrapper(const char *name);\n				const char *absence = driver_no_wrapper(wrapper_name);\n				if (absence) {\n					php_error_docref(NULL, E_WARNING, \"Unable to use the wrapper \\\"%s\\\": %s\", wrapper_name, absence);\n					efree(tmp);\n					return NULL;\n				}\n				php_error_docref(NULL, E_WARNING, \"Unable to find the wrapper \\\"%s\\\" - did you forget to enable it when you configured PHP?\", wrapper_name);",
        count: 1,
    },
    Edit {
        file: "main/streams/transports.c",
        find: "			ERR_REPORT(error_string, \"Unable to find the socket transport",
        replace: "			extern const char *driver_no_wrapper(const char *name);\n			const char *absence = driver_no_wrapper(wrapper_name);\n			if (absence) {\n				ERR_REPORT(error_string, \"%s\", absence);\n				return NULL;\n			}\n			ERR_REPORT(error_string, \"Unable to find the socket transport",
        count: 1,
    },
    Edit {
        file: "ext/standard/exec.c",
        find: "\"Unable to fork [%s]\"",
        replace: "\"Unable to fork [%s]: no processes in this sandbox\"",
        count: 1,
    },
    Edit {
        file: "ext/standard/exec.c",
        find: "\"Unable to execute '%s'\"",
        replace: "\"Unable to execute '%s': no processes in this sandbox\"",
        count: 1,
    },
    Edit {
        file: "ext/standard/file.c",
        find: "	if (!fp) {\n		php_error_docref2(NULL, command, posix_mode, E_WARNING, \"%s\", strerror(errno));",
        replace: "	if (!fp) {\n		php_error_docref2(NULL, command, posix_mode, E_WARNING, \"no processes in this sandbox\");",
        count: 1,
    },
    Edit {
        file: "Zend/zend_execute.c",
        find: "zend_throw_error(NULL, \"Call to undefined function %s()\", ZSTR_VAL(function));",
        replace: "extern const char *driver_absence(const char *name);\n			zend_throw_error(NULL, \"Call to undefined function %s()%s\", ZSTR_VAL(function), driver_absence(ZSTR_VAL(function)));",
        count: 1,
    },
    Edit {
        file: "Zend/zend_vm_execute.h",
        find: "zend_throw_error(NULL, \"Call to undefined function %s()\", Z_STRVAL_P(function_name));",
        replace: "extern const char *driver_absence(const char *name);\n	zend_throw_error(NULL, \"Call to undefined function %s()%s\", Z_STRVAL_P(function_name), driver_absence(Z_STRVAL_P(function_name)));",
        count: 1,
    },
    // A rename from one folder of the sandbox to another can cross devices; its files have no owners to carry over.
    Edit {
        file: "main/streams/plain_wrapper.c",
        find: "#  ifndef TSRM_WIN32\n\t\t\t\t\t/*\n\t\t\t\t\t * Try to set user",
        replace: "#  if !defined(TSRM_WIN32) && !defined(__wasi__)\n\t\t\t\t\t/*\n\t\t\t\t\t * Try to set user",
        count: 1,
    },
];
