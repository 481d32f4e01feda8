//! The changes to PHP's sources for lengths that have more bits than an address.

use crate::guests::tree::Edit;

/// PHP takes for granted that a length of 64 bits (`zend_long`) is also a size in memory. Here a size has 32, so a length
/// would lose its upper half on its way to the allocator and what is written afterwards would not fit. The allocator and
/// the functions that make strings take 64 bits and refuse what is too large with PHP's own error; comparisons with the
/// length of a string are made in 64 bits.
pub(super) const EDITS: &[Edit] = &[
    Edit {
        file: "Zend/zend_multiply.h",
        find: "zend_safe_address_guarded(size_t nmemb, size_t size, size_t offset)\n{\n	bool overflow;\n	size_t ret = zend_safe_address(nmemb, size, offset, &overflow);\n\n	if (UNEXPECTED(overflow)) {\n		zend_error_noreturn(E_ERROR, \"Possible integer overflow in memory allocation (%zu * %zu + %zu)\", nmemb, size, offset);",
        replace: "zend_safe_address_guarded(uint64_t nmemb, uint64_t size, uint64_t offset)\n{\n	bool overflow = nmemb > SIZE_MAX || size > SIZE_MAX || offset > SIZE_MAX;\n	size_t ret = overflow ? 0 : zend_safe_address(nmemb, size, offset, &overflow);\n\n	if (UNEXPECTED(overflow)) {\n		zend_error_noreturn(E_ERROR, \"Possible integer overflow in memory allocation (\" ZEND_ULONG_FMT \" * \" ZEND_ULONG_FMT \" + \" ZEND_ULONG_FMT \")\", nmemb, size, offset);",
        count: 1,
    },
    Edit {
        file: "Zend/zend_alloc.h",
        find: "size_t nmemb, size_t size, size_t offset",
        replace: "uint64_t nmemb, uint64_t size, uint64_t offset",
        count: 4,
    },
    Edit {
        file: "Zend/zend_alloc.c",
        find: "size_t nmemb, size_t size, size_t offset",
        replace: "uint64_t nmemb, uint64_t size, uint64_t offset",
        count: 4,
    },
    Edit {
        file: "Zend/zend_alloc.c",
        find: "ZEND_API void* ZEND_FASTCALL _safe_emalloc(",
        replace: "ZEND_API ZEND_COLD ZEND_NORETURN void zend_room_error(uint64_t size)\n{\n#if ZEND_MM_LIMIT\n	if (AG(mm_heap)->limit < (size_t)Z_L(-1) >> 1) {\n		zend_error_noreturn(E_ERROR, \"Allowed memory size of %zu bytes exhausted (tried to allocate \" ZEND_ULONG_FMT \" bytes)\", AG(mm_heap)->limit, size);\n	}\n#endif\n	zend_error_noreturn(E_ERROR, \"Out of memory (tried to allocate \" ZEND_ULONG_FMT \" bytes)\", size);\n}\n\nZEND_API void* ZEND_FASTCALL _safe_emalloc(",
        count: 1,
    },
    Edit {
        file: "Zend/zend_alloc.h",
        find: "/* Standard wrapper macros */\n#define emalloc(size)						_emalloc((size) ",
        replace: "ZEND_API ZEND_COLD ZEND_NORETURN void zend_room_error(uint64_t size);\n\nstatic zend_always_inline size_t zend_room(uint64_t size)\n{\n	if (UNEXPECTED(size > SIZE_MAX)) zend_room_error(size);\n	return (size_t)size;\n}\n\n#define ZEND_ROOM(size) (sizeof(size) > sizeof(size_t) ? zend_room(size) : (size_t)(size))\n\n/* Standard wrapper macros */\n#define emalloc(size)						_emalloc(ZEND_ROOM(size) ",
        count: 1,
    },
    Edit {
        file: "Zend/zend_alloc.h",
        find: "#define erealloc(ptr, size)					_erealloc((ptr), (size) ",
        replace: "#define erealloc(ptr, size)					_erealloc((ptr), ZEND_ROOM(size) ",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "static zend_always_inline zend_string *zend_string_alloc(size_t len, bool persistent)\n{\n",
        replace: "static zend_always_inline size_t zend_string_room(uint64_t length)\n{\n	if (UNEXPECTED(length > ZSTR_MAX_LEN)) zend_room_error(length);\n	return (size_t)length;\n}\n\nstatic zend_always_inline zend_string *zend_string_alloc(uint64_t length, bool persistent)\n{\n	size_t len = zend_string_room(length);\n",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "zend_string_safe_alloc(size_t n, size_t m, size_t l, bool persistent)\n{\n",
        replace: "zend_string_safe_alloc(uint64_t n, uint64_t m, uint64_t length, bool persistent)\n{\n	size_t l = zend_string_room(length);\n",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "zend_string_init(const char *str, size_t len, bool persistent)\n{\n",
        replace: "zend_string_init(const char *str, uint64_t length, bool persistent)\n{\n	size_t len = zend_string_room(length);\n",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "zend_string_init_fast(const char *str, size_t len)",
        replace: "zend_string_init_fast(const char *str, uint64_t len)",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "zend_string_realloc(zend_string *s, size_t len, bool persistent)\n{\n",
        replace: "zend_string_realloc(zend_string *s, uint64_t length, bool persistent)\n{\n	size_t len = zend_string_room(length);\n",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "zend_string_extend(zend_string *s, size_t len, bool persistent)\n{\n",
        replace: "zend_string_extend(zend_string *s, uint64_t length, bool persistent)\n{\n	size_t len = zend_string_room(length);\n",
        count: 1,
    },
    Edit {
        file: "Zend/zend_string.h",
        find: "zend_string_safe_realloc(zend_string *s, size_t n, size_t m, size_t l, bool persistent)\n{\n",
        replace: "zend_string_safe_realloc(zend_string *s, uint64_t n, uint64_t m, uint64_t length, bool persistent)\n{\n	size_t l = zend_string_room(length);\n",
        count: 1,
    },
    Edit {
        file: "Zend/zend_operators.h",
        find: "size_t len2, size_t length)",
        replace: "size_t len2, zend_ulong length)",
        count: 3,
    },
    Edit {
        file: "Zend/zend_operators.c",
        find: "size_t len2, size_t length)",
        replace: "size_t len2, zend_ulong length)",
        count: 3,
    },
    Edit { file: "Zend/zend_execute.c", find: "(size_t)offset", replace: "(zend_ulong)offset", count: 4 },
    Edit { file: "Zend/zend_execute.c", find: "(size_t)lval", replace: "(zend_ulong)lval", count: 2 },
    Edit { file: "ext/standard/string.c", find: "(size_t)", replace: "(zend_ulong)", count: 43 },
    Edit {
        file: "ext/standard/string.c",
        find: "size_t num_pad_chars;",
        replace: "zend_ulong num_pad_chars;",
        count: 1,
    },
    Edit { file: "ext/standard/string.c", find: "size_t cmp_len;", replace: "zend_ulong cmp_len;", count: 1 },
    Edit {
        file: "ext/standard/math.c",
        find: "dec < -(sizeof(powers) / sizeof(powers[0]) - 1)",
        replace: "dec < -(zend_long)(sizeof(powers) / sizeof(powers[0]) - 1)",
        count: 1,
    },
    Edit {
        file: "ext/standard/file.c",
        find: "MIN((size_t) maxlen, inputlen)",
        replace: "MIN((zend_ulong) maxlen, inputlen)",
        count: 1,
    },
    Edit {
        file: "ext/standard/file.c",
        find: "php_stream_copy_to_mem(stream, maxlen, 0)",
        replace: "php_stream_copy_to_mem(stream, MIN((zend_ulong) maxlen, SIZE_MAX), 0)",
        count: 1,
    },
    Edit {
        file: "ext/standard/streamsfuncs.c",
        find: "php_stream_copy_to_mem(stream, maxlen, 0)",
        replace: "php_stream_copy_to_mem(stream, MIN((zend_ulong) maxlen, SIZE_MAX), 0)",
        count: 1,
    },
    Edit {
        file: "ext/standard/streamsfuncs.c",
        find: "copy_to_stream_ex(src, dest, maxlen, &len)",
        replace: "copy_to_stream_ex(src, dest, MIN((zend_ulong) maxlen, SIZE_MAX), &len)",
        count: 1,
    },
    Edit {
        file: "ext/standard/file.c",
        find: "php_stream_truncate_set_size(stream, size)",
        replace: "php_stream_truncate_set_size(stream, zend_room(size))",
        count: 1,
    },
    Edit {
        file: "ext/spl/spl_directory.c",
        find: "php_stream_truncate_set_size(intern->u.file.stream, size)",
        replace: "php_stream_truncate_set_size(intern->u.file.stream, zend_room(size))",
        count: 1,
    },
    Edit {
        file: "ext/spl/spl_directory.c",
        find: "MIN((size_t)length, str_len)",
        replace: "MIN((zend_ulong)length, str_len)",
        count: 1,
    },
    Edit {
        file: "main/php_streams.h",
        find: "php_stream_read_to_str(php_stream *stream, size_t len)",
        replace: "php_stream_read_to_str(php_stream *stream, uint64_t len)",
        count: 1,
    },
    Edit {
        file: "main/streams/streams.c",
        find: "php_stream_read_to_str(php_stream *stream, size_t len)",
        replace: "php_stream_read_to_str(php_stream *stream, uint64_t len)",
        count: 1,
    },
    Edit {
        file: "main/streams/memory.c",
        find: "ms->fpos + count",
        replace: "(uint64_t)ms->fpos + count",
        count: 3,
    },
    Edit {
        file: "main/streams/memory.c",
        find: "(size_t)(-offset)",
        replace: "(zend_ulong)(-offset)",
        count: 2,
    },
    Edit {
        file: "main/streams/memory.c",
        find: "		case SEEK_SET:\n			if (offset < 0) {",
        replace: "		case SEEK_SET:\n			if (offset < 0 || (zend_ulong)offset > SIZE_MAX) {",
        count: 1,
    },
    Edit {
        file: "ext/random/randomizer.c",
        find: "size_t length = (size_t)user_length;\n	retval = zend_string_alloc(length, 0);",
        replace: "size_t length = (size_t)user_length;\n	retval = zend_string_alloc(user_length, 0);",
        count: 2,
    },
    Edit {
        file: "ext/mbstring/mbstring.c",
        find: "real_from = (size_t) from;",
        replace: "real_from = MIN((zend_ulong) from, SIZE_MAX);",
        count: 1,
    },
    Edit {
        file: "ext/mbstring/mbstring.c",
        find: "real_len = (size_t) len;",
        replace: "real_len = MIN((zend_ulong) len, SIZE_MAX);",
        count: 1,
    },
    Edit {
        file: "ext/mbstring/mbstring.c",
        find: "	if (from > string.len || len == 0) {\n		RETURN_EMPTY_STRING();\n	}\n",
        replace: "	if (from > string.len || len == 0) {\n		RETURN_EMPTY_STRING();\n	}\n	if (len > string.len) {\n		len = string.len;\n	}\n",
        count: 1,
    },
    Edit {
        file: "ext/mbstring/mbstring.c",
        find: "(size_t)pad_to_length <= input_length",
        replace: "(zend_ulong)pad_to_length <= input_length",
        count: 1,
    },
    Edit {
        file: "ext/mbstring/mbstring.c",
        find: "size_t num_mb_pad_chars = pad_to_length - input_length;",
        replace: "size_t num_mb_pad_chars = zend_room(pad_to_length) - input_length;",
        count: 1,
    },
    Edit {
        file: "ext/iconv/iconv.c",
        find: "(size_t)offset > total_len",
        replace: "(zend_ulong)offset > total_len",
        count: 1,
    },
    Edit {
        file: "ext/iconv/iconv.c",
        find: "(size_t)len > total_len",
        replace: "(zend_ulong)len > total_len",
        count: 1,
    },
    Edit {
        file: "ext/iconv/iconv.c",
        find: "(size_t)(offset + len) > total_len",
        replace: "(zend_ulong)(offset + len) > total_len",
        count: 1,
    },
    Edit {
        file: "ext/pdo/pdo_stmt.c",
        find: "\"len\", col->maxlen)",
        replace: "\"len\", (ssize_t)col->maxlen)",
        count: 1,
    },
];
