// Runs snippets: compiles them, takes the value of the last expression, and says what they came to.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>

#include "ext/standard/basic_functions.h"
#include "zend_exceptions.h"
#include "zend_language_scanner.h"

// The snippet that ran last, for the lines that exceptions quote.
static struct {
  char *code;
  size_t length;
  zend_string *name;
  // A snippet of the same name has defined functions or classes before, so a line inside one may be of that text.
  bool ambiguous;
  bool defined;
} source;

// The next program that is compiled is the snippet itself, not something it includes or evaluates.
static bool awaited;

static bool is_expression(const zend_ast *ast) {
  switch (ast->kind) {
    case ZEND_AST_ZVAL:
    case ZEND_AST_CLOSURE:
    case ZEND_AST_ARROW_FUNC:
    case ZEND_AST_ARRAY:
    case ZEND_AST_ENCAPS_LIST:
    case ZEND_AST_MAGIC_CONST:
    case ZEND_AST_MATCH:
      return true;
    default:
      return (ast->kind >= ZEND_AST_VAR && ast->kind <= ZEND_AST_CLASS_NAME) ||
             (ast->kind >= ZEND_AST_DIM && ast->kind <= ZEND_AST_ASSIGN_COALESCE) ||
             (ast->kind >= ZEND_AST_METHOD_CALL && ast->kind <= ZEND_AST_CONDITIONAL);
  }
}

// Makes `return` of a last statement that is an expression. On the syntax tree, so no text is ever put together.
static void return_last(zend_ast *ast) {
  while (ast && ast->kind == ZEND_AST_STMT_LIST) {
    zend_ast_list *list = zend_ast_get_list(ast);
    uint32_t at = list->children;
    while (at && (!list->child[at - 1] || list->child[at - 1]->kind == ZEND_AST_HALT_COMPILER)) at--;
    if (!at) return;
    zend_ast **last = &list->child[at - 1];
    if (is_expression(*last)) {
      uint32_t line = zend_ast_get_lineno(*last);
      *last = zend_ast_create(ZEND_AST_RETURN, *last);
      (*last)->lineno = line;
      return;
    }
    ast = (*last)->kind == ZEND_AST_NAMESPACE ? (*last)->child[1] : *last;
  }
}

static void on_tree(zend_ast *ast) {
  if (!awaited) return;
  awaited = false;
  return_last(ast);
}

void run_install(void) { zend_ast_process = on_tree; }

static zend_op_array *compile_text(zend_string *code, const char *name, zend_compile_position position) {
  awaited = true;
  zend_op_array *program = permit_compile(code, name, position);
  awaited = false;
  // It is a program, not code that a program evaluates: messages name it `main`.
  if (program) program->type = ZEND_USER_FUNCTION;
  return program;
}

// `<?php ...` and `<html>...` are files; anything else is code. No statement begins with `<`, except a heredoc.
static zend_compile_position position_of(const char **code, size_t *length) {
  if (*length >= 3 && memcmp(*code, "\xEF\xBB\xBF", 3) == 0) {
    *code += 3;
    *length -= 3;
  }
  if (*length >= 2 && memcmp(*code, "#!", 2) == 0) return ZEND_COMPILE_POSITION_AT_SHEBANG;
  size_t at = 0;
  while (at < *length && strchr(" \t\r\n", (*code)[at])) at++;
  bool tag = at < *length && (*code)[at] == '<' && !(*length - at >= 3 && memcmp(*code + at, "<<<", 3) == 0);
  // Blank lines before `<?php` would be printed. They are kept in the count of lines.
  return tag ? ZEND_COMPILE_POSITION_AT_OPEN_TAG : ZEND_COMPILE_POSITION_AFTER_OPEN_TAG;
}

// A snippet may leave out its last semicolon. One is added where it can only end a statement.
static zend_op_array *compile(const char *code, size_t length, const char *name) {
  zend_compile_position position = position_of(&code, &length);
  if (!length) return NULL;
  size_t end = length;
  while (end && strchr(" \t\r\n", code[end - 1])) end--;
  bool ended = !end || code[end - 1] == ';' || code[end - 1] == '}';
  bool first = ended || memmem(code, length, "?>", 2);
  zend_string *plain = first ? zend_string_init(code, length, 0) : NULL;
  zend_op_array *program = first ? compile_text(plain, name, position) : NULL;
  if (!program) {
    zend_object *refused = EG(exception);
    EG(exception) = NULL;
    zend_string *closed = zend_string_concat2(code, length, "\n;", 2);
    program = compile_text(closed, name, position);
    zend_string_release(closed);
    if (program) {
      if (refused) OBJ_RELEASE(refused);
    } else {
      if (EG(exception)) zend_clear_exception();
      if (refused) EG(exception) = refused;
      else {
        plain = zend_string_init(code, length, 0);
        program = compile_text(plain, name, position);
      }
    }
  }
  if (plain) zend_string_release(plain);
  return program;
}

static void release(zend_op_array *program) {
  zend_destroy_static_vars(program);
  destroy_op_array(program);
  efree_size(program, sizeof *program);
}

typedef struct {
  const char *code, *name;
  size_t length;
  zval *value;
} snippet;

static void snippet_body(void *with) {
  snippet *s = with;
  size_t functions = zend_hash_num_elements(EG(function_table)), classes = zend_hash_num_elements(EG(class_table));
  zend_op_array *program = compile(s->code, s->length, s->name);
  if (program) {
    // A closure's code lives in the table of the program that makes it.
    if (program->num_dynamic_func_defs) source.defined = true;
    zend_execute(program, s->value);
    release(program);
  }
  if (zend_hash_num_elements(EG(function_table)) != functions || zend_hash_num_elements(EG(class_table)) != classes) {
    source.defined = true;
  }
  if (EG(exception) && Z_TYPE(EG(user_exception_handler)) != IS_UNDEF && !zend_is_unwind_exit(EG(exception)) &&
      !zend_is_graceful_exit(EG(exception))) {
    zend_user_exception_handler();
    if (!EG(exception)) {
      // A script whose last exception was handled that way ends with this status.
      EG(exit_status) = 255;
      zend_throw_unwind_exit();
    }
  }
}

// What the state after a body means.
static void settle(bool whole, run_result *result) {
  zend_object *thrown = whole ? EG(exception) : NULL;
  if (whole && !thrown) return;
  zval_ptr_dtor(&result->value);
  ZVAL_UNDEF(&result->value);
  if (!whole) {
    result->end = RUN_FATAL;
  } else if (zend_is_unwind_exit(thrown) || zend_is_graceful_exit(thrown)) {
    zend_clear_exception();
    result->end = RUN_EXITED;
    result->status = EG(exit_status);
  } else {
    GC_ADDREF(thrown);
    zend_clear_exception();
    ZVAL_OBJ(&result->value, thrown);
    result->end = RUN_RAISED;
  }
}

void run_step(void (*body)(void *), void *with, run_result *result) {
  // Below this frame, which belongs to no function, an exception stays pending instead of being reported.
  zend_execute_data base = {0};
  base.prev_execute_data = EG(current_execute_data);
  EG(current_execute_data) = &base;
  bool whole = guarded(body, with);
  EG(current_execute_data) = base.prev_execute_data;
  settle(whole, result);
}

static void remember(char *code, size_t length, const char *name) {
  free(source.code);
  source.code = code;
  source.length = length;
  source.ambiguous |= source.defined;
  source.defined = false;
  if (source.name) zend_string_release(source.name);
  source.name = zend_string_init(name, strlen(name), 1);
}

void run_forget(void) {
  free(source.code);
  if (source.name) zend_string_release(source.name);
  memset(&source, 0, sizeof source);
}

const char *run_line(const zend_string *file, zend_long line, bool top, size_t *length) {
  if (!source.code || !source.name || !zend_string_equals(file, source.name) || (source.ambiguous && !top)) return NULL;
  const char *at = source.code, *end = at + source.length;
  for (zend_long i = 1; i < line && at; i++) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  if (!at || at >= end) return NULL;
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  *length = (size_t)((stop ? stop : end) - at);
  return at;
}

void run_snippet(char *code, size_t length, const char *name, run_result *result) {
  ZVAL_UNDEF(&result->value);
  result->end = RUN_RETURNED;
  EG(exit_status) = 0;
  remember(code, length, name);
  snippet s = {code, name, length, &result->value};
  // Without a frame of ours: the program's variables are the globals then.
  settle(guarded(snippet_body, &s), result);
}

static void shutdown_body(void *with) {
  (void)with;
  if (BG(user_shutdown_function_names)) {
    php_call_shutdown_functions();
    php_free_shutdown_functions();
  }
}

static void output_body(void *with) {
  (void)with;
  php_output_end_all();
}

void run_last(run_result *result) {
  run_result last = {.end = RUN_RETURNED};
  ZVAL_UNDEF(&last.value);
  bool before = fatal.raised;
  run_step(shutdown_body, NULL, &last);
  // `php_call_shutdown_functions` has a guard of its own.
  if (fatal.raised && !before) last.end = RUN_FATAL;
  run_result output = {.end = RUN_RETURNED};
  ZVAL_UNDEF(&output.value);
  run_step(output_body, NULL, &output);
  if (last.end == RUN_RETURNED) last = output;
  else zval_ptr_dtor(&output.value);
  if (last.end == RUN_RETURNED) return;
  if (result->end == RUN_RAISED || result->end == RUN_FATAL) {
    // The first failure is the one to tell.
    zval_ptr_dtor(&last.value);
    return;
  }
  zval_ptr_dtor(&result->value);
  *result = last;
}

typedef struct {
  zval *given, *value;
  snippet text;
} query;

static void query_body(void *with) {
  query *q = with;
  zend_op_array *program = compile(q->text.code, q->text.length, q->text.name);
  if (!program) return;
  zend_array *names = zend_new_array(1);
  Z_TRY_ADDREF_P(q->given);
  zend_hash_str_add_new(names, "value", sizeof "value" - 1, q->given);
  // As zend_execute does it, with names of its own in the place of the globals.
  zend_execute_data *frame = zend_vm_stack_push_call_frame(ZEND_CALL_TOP_CODE | ZEND_CALL_HAS_SYMBOL_TABLE,
                                                           (zend_function *)program, 0, NULL);
  frame->symbol_table = names;
  zend_init_code_execute_data(frame, program, q->value);
  zend_execute_ex(frame);
  zend_vm_stack_free_call_frame(frame);
  zend_array_destroy(names);
  release(program);
}

void run_query(zval *value, const char *code, size_t length, const char *name, run_result *result) {
  ZVAL_UNDEF(&result->value);
  result->end = RUN_RETURNED;
  EG(exit_status) = 0;
  query q = {value, &result->value, {code, name, length, NULL}};
  run_step(query_body, &q, result);
}
