// What the parts of the tools know of each other: how calls of the host's functions are written, and what comes of them.
#ifndef DORMOUSE_TOOLS_H
#define DORMOUSE_TOOLS_H

#include "guest_php.h"

// tool.c: one call.

// The arguments as the JSON text of an object, whatever their keys are. NULL: they cannot be said, perhaps because an exception
// is pending. Runs code of the user's (`JsonSerializable`).
zend_string *tool_write(zend_array *arguments);
// The value that an answer says. False: it is nested too deep.
bool tool_read(const guest_string_t *answer, zval *value);
extern const guest_string_t tool_too_deep;
// Throws a `ToolError`.
void tool_fail(const guest_string_t *why);
// For a PHP function whose arguments are a name and arguments: calls the host's function, and waits for its answer. NULL is no
// arguments. An exception is pending if it fails.
void tool_call(zend_string *name, zend_array *arguments, zval *value);

// tools.c: `tools()->SERVER->TOOL(argument: value)`.
void tools_start(void);
ZEND_FUNCTION(tools);

// calls.c: several calls at once.
ZEND_FUNCTION(call_tools);

#endif
