// The system's log: nobody reads it.
#ifndef DORMOUSE_SYSLOG_H
#define DORMOUSE_SYSLOG_H

#include <stdarg.h>

enum { LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG };

#define LOG_FACILITY(number) ((number) << 3)
#define LOG_KERN LOG_FACILITY(0)
#define LOG_USER LOG_FACILITY(1)
#define LOG_MAIL LOG_FACILITY(2)
#define LOG_DAEMON LOG_FACILITY(3)
#define LOG_AUTH LOG_FACILITY(4)
#define LOG_SYSLOG LOG_FACILITY(5)
#define LOG_LPR LOG_FACILITY(6)
#define LOG_NEWS LOG_FACILITY(7)
#define LOG_UUCP LOG_FACILITY(8)
#define LOG_CRON LOG_FACILITY(9)
#define LOG_AUTHPRIV LOG_FACILITY(10)
#define LOG_LOCAL0 LOG_FACILITY(16)
#define LOG_LOCAL1 LOG_FACILITY(17)
#define LOG_LOCAL2 LOG_FACILITY(18)
#define LOG_LOCAL3 LOG_FACILITY(19)
#define LOG_LOCAL4 LOG_FACILITY(20)
#define LOG_LOCAL5 LOG_FACILITY(21)
#define LOG_LOCAL6 LOG_FACILITY(22)
#define LOG_LOCAL7 LOG_FACILITY(23)

#define LOG_PID 1
#define LOG_CONS 2
#define LOG_ODELAY 4
#define LOG_NDELAY 8
#define LOG_NOWAIT 16
#define LOG_PERROR 32

void closelog(void);
void openlog(const char *, int, int);
void syslog(int, const char *, ...);
void vsyslog(int, const char *, va_list);

#endif
