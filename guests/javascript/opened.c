// Open files by their descriptors, over WASI's libc. Which descriptors a snippet may name is the prelude's matter: those that it
// has opened, and the three standard streams.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "javascript.h"

// Node's numbers of the flags are Linux's.
enum { LINUX_CREATE = 0100, LINUX_EXCLUSIVE = 0200, LINUX_TRUNCATE = 01000, LINUX_APPEND = 02000 };

static int libc_flags(int given) {
  int access = given & 3;
  return (access == 0 ? O_RDONLY : access == 1 ? O_WRONLY : O_RDWR) | (given & LINUX_CREATE ? O_CREAT : 0) |
         (given & LINUX_EXCLUSIVE ? O_EXCL : 0) | (given & LINUX_TRUNCATE ? O_TRUNC : 0) |
         (given & LINUX_APPEND ? O_APPEND : 0) | O_CLOEXEC;
}

// From here on, descriptors are those of /dev/null.
#define FIRST_NULL (1 << 20)
static int next_null = FIRST_NULL;

static bool is_standard(int file) { return file >= STDIN_FILENO && file <= STDERR_FILENO; }
static bool is_null(int file) { return file >= FIRST_NULL; }

// open(path, flags): the descriptor
static JSValue open_file(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t flags = 0;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path || JS_ToInt32(ctx, &flags, arguments[1]) < 0) {
    JS_FreeCString(ctx, path);
    return JS_EXCEPTION;
  }
  int device = files_device(path);
  if (device == FILES_NULL && next_null == INT32_MAX) next_null = FIRST_NULL;
  int file = device == FILES_NULL ? next_null++ : device >= 0 ? device : open(path, libc_flags(flags), 0666);
  // The table of descriptors is full; opening takes no memory otherwise.
  if (file < 0 && errno == ENOMEM) errno = EMFILE;
  JSValue result = file < 0 ? JS_Throw(ctx, files_error(ctx, errno, "open", path)) : JS_NewInt32(ctx, file);
  JS_FreeCString(ctx, path);
  return result;
}

static JSValue fail(JSContext *ctx, const char *operation) {
  return JS_Throw(ctx, files_error(ctx, errno, operation, NULL));
}

enum { CLOSE, SYNC };

// close(descriptor), sync(descriptor)
static JSValue finish(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int how) {
  (void)self, (void)count;
  int32_t file;
  if (JS_ToInt32(ctx, &file, arguments[0]) < 0) return JS_EXCEPTION;
  // The standard streams are those of later snippets, too.
  if (is_null(file) || (how == CLOSE && is_standard(file))) return JS_UNDEFINED;
  if ((how == CLOSE ? close(file) : fsync(file)) == 0) return JS_UNDEFINED;
  // The host refuses so for a file that is open for reading alone, of which there is nothing to write.
  if (how == SYNC && errno == EBADF) return JS_UNDEFINED;
  return fail(ctx, how == CLOSE ? "close" : "fsync");
}

enum { READ, WRITE };

// read(descriptor, bytes, position), write(descriptor, bytes, position): how many bytes; without a position, from where the
// file is
static JSValue transfer(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int way) {
  (void)self, (void)count;
  int32_t file;
  int64_t position = -1;
  if (JS_ToInt32(ctx, &file, arguments[0]) < 0) return JS_EXCEPTION;
  if (!JS_IsUndefined(arguments[2]) && JS_ToInt64(ctx, &position, arguments[2]) < 0) return JS_EXCEPTION;
  size_t length;
  uint8_t *bytes = (uint8_t *)engine_bytes(ctx, arguments[1], &length);
  if (is_null(file)) return JS_NewInt64(ctx, way == WRITE ? (int64_t)length : 0);
  if (way == WRITE && (file == STDOUT_FILENO || file == STDERR_FILENO)) {
    driver_write(file, (const char *)bytes, length);
    return JS_NewInt64(ctx, (int64_t)length);
  }
  ssize_t done = way == READ    ? position < 0 ? read(file, bytes, length) : pread(file, bytes, length, position)
                 : position < 0 ? write(file, bytes, length)
                                : pwrite(file, bytes, length, position);
  return done < 0 ? fail(ctx, way == READ ? "read" : "write") : JS_NewInt64(ctx, done);
}

// statOpen(descriptor): as `stat`
static JSValue stat_open(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t file;
  if (JS_ToInt32(ctx, &file, arguments[0]) < 0) return JS_EXCEPTION;
  struct stat about;
  if (is_null(file)) {
    files_about_device(&about);
    return files_about(ctx, &about);
  }
  return fstat(file, &about) < 0 ? fail(ctx, "fstat") : files_about(ctx, &about);
}

// resize(descriptor, length)
static JSValue resize(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t file;
  int64_t length;
  if (JS_ToInt32(ctx, &file, arguments[0]) < 0 || JS_ToInt64(ctx, &length, arguments[1]) < 0) return JS_EXCEPTION;
  if (is_null(file)) return JS_UNDEFINED;
  return ftruncate(file, length < 0 ? 0 : length) < 0 ? fail(ctx, "ftruncate") : JS_UNDEFINED;
}

// setOpenTimes(descriptor, accessed, modified): in seconds
static JSValue set_open_times(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t file;
  struct timespec times[2];
  if (JS_ToInt32(ctx, &file, arguments[0]) < 0 || !files_times(ctx, &arguments[1], times)) return JS_EXCEPTION;
  if (is_null(file)) return JS_UNDEFINED;
  return futimens(file, times) < 0 ? fail(ctx, "futime") : JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("openFile", 2, open_file),
    JS_CFUNC_MAGIC_DEF("closeFile", 1, finish, CLOSE),
    JS_CFUNC_MAGIC_DEF("syncFile", 1, finish, SYNC),
    JS_CFUNC_MAGIC_DEF("readOpen", 3, transfer, READ),
    JS_CFUNC_MAGIC_DEF("writeOpen", 3, transfer, WRITE),
    JS_CFUNC_DEF("statOpen", 1, stat_open),
    JS_CFUNC_DEF("resizeOpen", 2, resize),
    JS_CFUNC_DEF("setOpenTimes", 3, set_open_times),
};

void opened_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
