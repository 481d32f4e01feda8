// What libgit2's build would have found out about WASI: no threads, no TLS, time stamps in nanoseconds.
#ifndef INCLUDE_features_h
#define INCLUDE_features_h
#define GIT_ARCH_32 1
#define GIT_HTTPPARSER_BUILTIN 1
#define GIT_IO_POLL 1
#define GIT_SHA1_COLLISIONDETECT 1
#define GIT_SHA256_BUILTIN 1
#define GIT_USE_NSEC 1
#define GIT_USE_STAT_MTIM 1
#endif
