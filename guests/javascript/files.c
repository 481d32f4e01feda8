// Files and the process's surroundings, over WASI's libc: what the snippet may touch is what the run was granted.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

#include "javascript.h"

extern char **environ;
// Of wasi-libc; fills `environ` from WASI when it is not filled.
char **__wasilibc_get_environ(void);

// Node's names of the errors that a file system gives.
static const struct {
  int code;
  const char *name;
  // Linux's, which programs compare with.
  int number;
  const char *text;
} errors[] = {
    {ENOENT, "ENOENT", 2, "no such file or directory"},
    {EACCES, "EACCES", 13, "permission denied"},
    {EPERM, "EPERM", 1, "operation not permitted"},
    {EROFS, "EROFS", 30, "read-only file system"},
    {EEXIST, "EEXIST", 17, "file already exists"},
    {ENOTDIR, "ENOTDIR", 20, "not a directory"},
    {EISDIR, "EISDIR", 21, "illegal operation on a directory"},
    {ENOTEMPTY, "ENOTEMPTY", 39, "directory not empty"},
    {ENOSPC, "ENOSPC", 28, "no space left on device"},
    {EDQUOT, "EDQUOT", 122, "disk quota exceeded"},
    {EFBIG, "EFBIG", 27, "file too large"},
    {EMFILE, "EMFILE", 24, "too many open files"},
    {ENFILE, "ENFILE", 23, "file table overflow"},
    {EINVAL, "EINVAL", 22, "invalid argument"},
    {EXDEV, "EXDEV", 18, "cross-device link not permitted"},
    {ELOOP, "ELOOP", 40, "too many symbolic links encountered"},
    {ENAMETOOLONG, "ENAMETOOLONG", 36, "name too long"},
    {EBUSY, "EBUSY", 16, "resource busy or locked"},
    {EIO, "EIO", 5, "i/o error"},
    {ENOMEM, "ENOMEM", 12, "not enough memory"},
    {EILSEQ, "EILSEQ", 84, "illegal byte sequence"},
    // No granted folder holds the path; its name is as unknown to the snippet as a missing file's.
    {ENOTCAPABLE, "ENOENT", 2, "no such file or directory"},
    {EBADF, "ENOENT", 2, "no such file or directory"},
};

JSValue files_error(JSContext *ctx, int code, const char *operation, const char *path) {
  const char *name = "EIO", *about = strerror(code);
  int number = 5;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (errors[i].code != code) continue;
    name = errors[i].name;
    about = errors[i].text;
    number = errors[i].number;
    break;
  }
  if (!path && code == EBADF) {
    // Of an open file it is the descriptor that is bad.
    name = "EBADF";
    about = "bad file descriptor";
    number = 9;
  }
  text message = {0};
  text_string(&message, name);
  text_string(&message, ": ");
  text_string(&message, about);
  text_string(&message, ", ");
  text_string(&message, operation);
  if (path) {
    text_string(&message, " '");
    text_string(&message, path);
    text_string(&message, "'");
  }
  JSValue error = JS_NewError(ctx);
  JS_DefinePropertyValueStr(ctx, error, "message", JS_NewStringLen(ctx, message.bytes, message.length),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_SetPropertyStr(ctx, error, "errno", JS_NewInt32(ctx, -number));
  JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, name));
  JS_SetPropertyStr(ctx, error, "syscall", JS_NewString(ctx, operation));
  if (path) JS_SetPropertyStr(ctx, error, "path", JS_NewString(ctx, path));
  text_free(&message);
  return error;
}

static JSValue fail(JSContext *ctx, const char *operation, const char *path) {
  return JS_Throw(ctx, files_error(ctx, errno, operation, path));
}

// Devices, of which the file system has none.
static const char *const devices[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null"};

int files_device(const char *path) {
  if (strncmp(path, "/dev/", 5) != 0) return -1;
  for (int i = 0; i < FILES_NULL; i++)
    if (!strcmp(path, devices[i])) return i;
  return strcmp(path, devices[3]) ? -1 : FILES_NULL;
}

void files_about_device(struct stat *about) { *about = (struct stat){.st_mode = S_IFCHR | 0666, .st_nlink = 1}; }

char *files_load(const char *path, size_t *length) {
  int device = files_device(path);
  bool input = device == STDIN_FILENO;
  *length = 0;
  if (device == FILES_NULL) return calloc(1, 1);
  int file = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  struct stat about;
  char *bytes = NULL;
  size_t room = 0;
  if (fstat(file, &about) == 0) {
    if (S_ISDIR(about.st_mode)) errno = EISDIR;
    else bytes = malloc(room = (about.st_size > 0 && about.st_size < INT_MAX ? (size_t)about.st_size : 4096) + 1);
  }
  while (bytes) {
    if (*length + 1 >= room) {
      char *larger = realloc(bytes, room *= 2);
      if (!larger) {
        free(bytes);
        bytes = NULL;
        errno = ENOMEM;
        break;
      }
      bytes = larger;
    }
    ssize_t got = read(file, bytes + *length, room - 1 - *length);
    if (got < 0) {
      free(bytes);
      bytes = NULL;
    } else if (got == 0) {
      bytes[*length] = 0;
      break;
    } else {
      *length += (size_t)got;
    }
  }
  int code = errno;
  if (!input) close(file);
  errno = code;
  return bytes;
}

static void free_bytes(JSRuntime *runtime, void *opaque, void *bytes) {
  (void)runtime, (void)opaque;
  free(bytes);
}

const char *files_path(JSContext *ctx, int count, JSValueConst *arguments, int index) {
  if (count <= index || !JS_IsString(arguments[index])) {
    JS_ThrowTypeError(ctx, "the path must be a string");
    return NULL;
  }
  size_t length;
  const char *path = JS_ToCStringLen(ctx, &length, arguments[index]);
  if (!path || strlen(path) == length) return path;
  JS_FreeCString(ctx, path);
  JSValue error = JS_NewError(ctx);
  JS_SetPropertyStr(ctx, error, "message", JS_NewString(ctx, "the path must not have null bytes in it"));
  JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, "ERR_INVALID_ARG_VALUE"));
  JS_Throw(ctx, error);
  return NULL;
}

static void *release_bytes(JSRuntime *runtime, void *opaque, void *bytes, size_t size) {
  if (size) return realloc(bytes, size);
  free_bytes(runtime, opaque, bytes);
  return NULL;
}

// read(path): an ArrayBuffer
static JSValue read_file(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  size_t length;
  char *bytes = files_load(path, &length);
  bool is_folder = !bytes && errno == EISDIR;
  JSValue result = bytes ? JS_NewArrayBuffer(ctx, (uint8_t *)bytes, length, 0, release_bytes, NULL, false)
                         : fail(ctx, is_folder ? "read" : "open", is_folder ? NULL : path);
  JS_FreeCString(ctx, path);
  return result;
}

// write(path, bytes, append, exclusive)
static JSValue write_file(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path || count < 4) return JS_EXCEPTION;
  size_t length;
  const uint8_t *bytes = engine_bytes(ctx, arguments[1], &length);
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (JS_ToBool(ctx, arguments[2]) ? O_APPEND : O_TRUNC) |
              (JS_ToBool(ctx, arguments[3]) ? O_EXCL : 0);
  int device = files_device(path);
  bool is_output = device == STDOUT_FILENO || device == STDERR_FILENO;
  if (is_output) driver_write(device, (const char *)bytes, length);
  if (is_output || device == FILES_NULL) {
    JS_FreeCString(ctx, path);
    return JS_UNDEFINED;
  }
  int file = open(path, flags, 0666);
  JSValue result = JS_UNDEFINED;
  if (file < 0) result = fail(ctx, "open", path);
  while (file >= 0 && length) {
    ssize_t written = write(file, bytes, length);
    if (written <= 0) {
      result = fail(ctx, "write", path);
      break;
    }
    bytes += written;
    length -= (size_t)written;
  }
  if (file >= 0) close(file);
  JS_FreeCString(ctx, path);
  return result;
}

JSValue files_about(JSContext *ctx, const struct stat *about) {
  const char *kind = S_ISDIR(about->st_mode)   ? "directory"
                     : S_ISLNK(about->st_mode) ? "link"
                     : S_ISCHR(about->st_mode) ? "device"
                                               : "file";
  double modified = (double)about->st_mtim.tv_sec * 1e3 + (double)about->st_mtim.tv_nsec / 1e6;
  double accessed = (double)about->st_atim.tv_sec * 1e3 + (double)about->st_atim.tv_nsec / 1e6;
  double changed = (double)about->st_ctim.tv_sec * 1e3 + (double)about->st_ctim.tv_nsec / 1e6;
  JSValue fields[] = {JS_NewString(ctx, kind),
                      JS_NewInt64(ctx, about->st_size),
                      JS_NewFloat64(ctx, modified),
                      JS_NewFloat64(ctx, accessed),
                      JS_NewFloat64(ctx, changed),
                      JS_NewFloat64(ctx, (double)about->st_ino),
                      JS_NewFloat64(ctx, (double)about->st_nlink),
                      JS_NewFloat64(ctx, (double)about->st_dev),
                      JS_NewInt32(ctx, (int32_t)about->st_atim.tv_nsec),
                      JS_NewInt32(ctx, (int32_t)about->st_mtim.tv_nsec),
                      JS_NewInt32(ctx, (int32_t)about->st_ctim.tv_nsec)};
  return JS_NewArrayFrom(ctx, sizeof fields / sizeof *fields, fields);
}

// stat(path, follow): [kind, size, modified, accessed, changed, inode, links, device, and of the times accessed, modified and
// changed the nanoseconds of their last second]
static JSValue stat_file(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  struct stat about;
  bool follow = count < 2 || JS_ToBool(ctx, arguments[1]);
  int failed = 0;
  if (files_device(path) < 0) failed = fstatat(AT_FDCWD, path, &about, follow ? 0 : AT_SYMLINK_NOFOLLOW);
  else files_about_device(&about);
  JSValue result = failed ? fail(ctx, follow ? "stat" : "lstat", path) : files_about(ctx, &about);
  JS_FreeCString(ctx, path);
  return result;
}

// list(path): [[name, kind], ...] in no order
static JSValue list_folder(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  DIR *folder = opendir(path);
  JSValue result = folder ? JS_NewArray(ctx) : fail(ctx, "scandir", path);
  uint32_t found = 0;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    const char *kind = entry->d_type == DT_DIR ? "directory" : entry->d_type == DT_LNK ? "link" : "file";
    JSValue pair[] = {JS_NewString(ctx, entry->d_name), JS_NewString(ctx, kind)};
    JS_SetPropertyUint32(ctx, result, found++, JS_NewArrayFrom(ctx, 2, pair));
  }
  if (folder) closedir(folder);
  JS_FreeCString(ctx, path);
  return result;
}

enum { MAKE_FOLDER, REMOVE_FOLDER, REMOVE_FILE, CHANGE_FOLDER };

static JSValue change_path(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int change) {
  (void)self;
  static const char *const names[] = {"mkdir", "rmdir", "unlink", "chdir"};
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  int done = change == MAKE_FOLDER     ? mkdir(path, 0777)
             : change == REMOVE_FOLDER ? rmdir(path)
             : change == REMOVE_FILE   ? unlink(path)
                                       : chdir(path);
  JSValue result = done < 0 ? fail(ctx, names[change], path) : JS_UNDEFINED;
  JS_FreeCString(ctx, path);
  return result;
}

enum { RENAME, MAKE_LINK, HARD_LINK };

static JSValue change_paths(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int change) {
  (void)self;
  const char *from = files_path(ctx, count, arguments, 0), *to = files_path(ctx, count, arguments, 1);
  JSValue result = JS_EXCEPTION;
  if (from && to) {
    static const char *const names[] = {"rename", "symlink", "link"};
    int done = change == RENAME ? rename(from, to) : change == MAKE_LINK ? symlink(from, to) : link(from, to);
    result = done < 0 ? fail(ctx, names[change], change == MAKE_LINK ? to : from) : JS_UNDEFINED;
  }
  JS_FreeCString(ctx, from);
  JS_FreeCString(ctx, to);
  return result;
}

static JSValue read_link(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  char target[PATH_MAX];
  ssize_t length = readlink(path, target, sizeof target);
  JSValue result = length < 0 ? fail(ctx, "readlink", path) : JS_NewStringLen(ctx, target, (size_t)length);
  JS_FreeCString(ctx, path);
  return result;
}

static JSValue current_folder(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  char path[PATH_MAX];
  return getcwd(path, sizeof path) ? JS_NewString(ctx, path) : fail(ctx, "getcwd", ".");
}

// environment(): {name: value}
static JSValue environment(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  JSValue result = JS_NewObject(ctx);
  for (char **entry = __wasilibc_get_environ(); entry && *entry; entry++) {
    const char *equals = strchr(*entry, '=');
    if (!equals) continue;
    JSAtom name = JS_NewAtomLen(ctx, *entry, (size_t)(equals - *entry));
    JS_DefinePropertyValue(ctx, result, name, JS_NewString(ctx, equals + 1), JS_PROP_C_W_E);
    JS_FreeAtom(ctx, name);
  }
  return result;
}

// arguments(): the run's arguments, asked anew each time
static JSValue program_arguments(JSContext *ctx, JSValueConst self, int count, JSValueConst *given) {
  (void)self, (void)count, (void)given;
  JSValue result = JS_NewArray(ctx);
  __wasi_size_t number = 0, size = 0;
  if (__wasi_args_sizes_get(&number, &size) != 0 || !number) return result;
  uint8_t **list = malloc(number * sizeof *list), *bytes = malloc(size);
  if (list && bytes && __wasi_args_get(list, bytes) == 0) {
    for (uint32_t i = 0; i < number; i++) JS_SetPropertyUint32(ctx, result, i, JS_NewString(ctx, (char *)list[i]));
  }
  free(list);
  free(bytes);
  return result;
}

bool files_times(JSContext *ctx, JSValueConst *given, struct timespec *times) {
  for (int i = 0; i < 2; i++) {
    double seconds;
    if (JS_ToFloat64(ctx, &seconds, given[i]) < 0) return false;
    if (!(fabs(seconds) < 1e12)) {
      JS_ThrowRangeError(ctx, "the time is out of range");
      return false;
    }
    double whole = floor(seconds);
    times[i] = (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)};
  }
  return true;
}

// setTimes(path, accessed, modified, follow): in seconds
static JSValue set_times(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  struct timespec times[2];
  if (!files_times(ctx, &arguments[1], times)) return JS_EXCEPTION;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  int failed = utimensat(AT_FDCWD, path, times, JS_ToBool(ctx, arguments[3]) ? 0 : AT_SYMLINK_NOFOLLOW);
  JSValue result = failed ? fail(ctx, "utime", path) : JS_UNDEFINED;
  JS_FreeCString(ctx, path);
  return result;
}

// canBeWritten(path): whether it lies in a folder that this run may write to
static JSValue can_be_written(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *path = files_path(ctx, count, arguments, 0);
  if (!path) return JS_EXCEPTION;
  bool can = driver_can_be_written(path);
  JS_FreeCString(ctx, path);
  return JS_NewBool(ctx, can);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("readFile", 1, read_file),
    JS_CFUNC_DEF("writeFile", 4, write_file),
    JS_CFUNC_DEF("stat", 2, stat_file),
    JS_CFUNC_DEF("list", 1, list_folder),
    JS_CFUNC_MAGIC_DEF("makeFolder", 1, change_path, MAKE_FOLDER),
    JS_CFUNC_MAGIC_DEF("removeFolder", 1, change_path, REMOVE_FOLDER),
    JS_CFUNC_MAGIC_DEF("removeFile", 1, change_path, REMOVE_FILE),
    JS_CFUNC_MAGIC_DEF("changeFolder", 1, change_path, CHANGE_FOLDER),
    JS_CFUNC_MAGIC_DEF("rename", 2, change_paths, RENAME),
    JS_CFUNC_MAGIC_DEF("makeLink", 2, change_paths, MAKE_LINK),
    JS_CFUNC_MAGIC_DEF("hardLink", 2, change_paths, HARD_LINK),
    JS_CFUNC_DEF("readLink", 1, read_link),
    JS_CFUNC_DEF("setTimes", 4, set_times),
    JS_CFUNC_DEF("canBeWritten", 1, can_be_written),
    JS_CFUNC_DEF("currentFolder", 0, current_folder),
    JS_CFUNC_DEF("environment", 0, environment),
    JS_CFUNC_DEF("arguments", 0, program_arguments),
};

void files_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
