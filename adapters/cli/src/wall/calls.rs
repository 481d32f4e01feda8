//! Which system calls a server needs, and a helper that looks up names: found by watching them serve, and kept by what each
//! is for. Whatever is not here does not exist for them.
//!
//! What no filter can see is what a pointer points to: calls that take a path pass, and Landlock says which. Calls that
//! change a file by its path without opening it (owner, mode, attributes) are beyond Landlock too, and are not here.

use libc as c;

use super::Reach;
use super::filter::{Calls, Is};

/// Memory: maps, and what code of the engine is made in and reset by.
const MEMORY: [i64; 9] = [
    c::SYS_brk,
    c::SYS_mmap,
    c::SYS_munmap,
    c::SYS_mremap,
    c::SYS_mprotect,
    c::SYS_madvise,
    c::SYS_mincore,
    c::SYS_memfd_create,
    c::SYS_membarrier,
];
/// Threads, their signals, time.
const THREADS: [i64; 25] = [
    c::SYS_exit,
    c::SYS_exit_group,
    c::SYS_futex,
    c::SYS_set_robust_list,
    c::SYS_rseq,
    c::SYS_gettid,
    c::SYS_sched_yield,
    c::SYS_sched_getaffinity,
    c::SYS_getcpu,
    c::SYS_restart_syscall,
    c::SYS_rt_sigaction,
    c::SYS_rt_sigprocmask,
    c::SYS_rt_sigreturn,
    c::SYS_sigaltstack,
    c::SYS_clock_gettime,
    c::SYS_clock_getres,
    c::SYS_clock_nanosleep,
    c::SYS_nanosleep,
    c::SYS_gettimeofday,
    c::SYS_getrusage,
    c::SYS_sysinfo,
    c::SYS_uname,
    c::SYS_getrandom,
    c::SYS_getpid,
    c::SYS_getppid,
];
/// Who one is, and where: never who or where one wants to be.
const SELF: [i64; 5] = [c::SYS_getuid, c::SYS_geteuid, c::SYS_getgid, c::SYS_getegid, c::SYS_getcwd];
/// Descriptors that are there already.
const DESCRIPTORS: [i64; 31] = [
    c::SYS_read,
    c::SYS_readv,
    c::SYS_pread64,
    c::SYS_preadv,
    c::SYS_preadv2,
    c::SYS_write,
    c::SYS_writev,
    c::SYS_pwrite64,
    c::SYS_pwritev,
    c::SYS_pwritev2,
    c::SYS_lseek,
    c::SYS_close,
    c::SYS_close_range,
    c::SYS_dup,
    c::SYS_dup3,
    c::SYS_fsync,
    c::SYS_fdatasync,
    c::SYS_ftruncate,
    c::SYS_fallocate,
    c::SYS_fadvise64,
    c::SYS_flock,
    c::SYS_copy_file_range,
    c::SYS_sendfile,
    c::SYS_pipe2,
    c::SYS_eventfd2,
    c::SYS_epoll_create1,
    c::SYS_epoll_ctl,
    c::SYS_epoll_pwait,
    c::SYS_epoll_pwait2,
    c::SYS_ppoll,
    c::SYS_pselect6,
];
/// Files, by their names. Landlock says which of them.
const FILES: [i64; 19] = [
    c::SYS_openat,
    c::SYS_openat2,
    c::SYS_fstat,
    c::SYS_newfstatat,
    c::SYS_statx,
    c::SYS_statfs,
    c::SYS_fstatfs,
    c::SYS_faccessat,
    c::SYS_faccessat2,
    c::SYS_readlinkat,
    c::SYS_getdents64,
    c::SYS_mkdirat,
    c::SYS_unlinkat,
    RENAMEAT,
    c::SYS_renameat2,
    c::SYS_linkat,
    c::SYS_symlinkat,
    c::SYS_utimensat,
    c::SYS_umask,
];
/// The kernel of ARM has it; the table of our library does not.
#[cfg(target_arch = "aarch64")]
const RENAMEAT: i64 = 38;
#[cfg(not(target_arch = "aarch64"))]
const RENAMEAT: i64 = c::SYS_renameat;
/// What older calls of x86-64 are called; ARM never had them.
#[cfg(target_arch = "x86_64")]
const OLDER: [i64; 14] = [
    c::SYS_open,
    c::SYS_stat,
    c::SYS_lstat,
    c::SYS_access,
    c::SYS_readlink,
    c::SYS_mkdir,
    c::SYS_rmdir,
    c::SYS_unlink,
    c::SYS_rename,
    c::SYS_link,
    c::SYS_symlink,
    c::SYS_poll,
    c::SYS_epoll_wait,
    c::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [i64; 0] = [];
/// Sockets that are there already.
const SOCKETS: [i64; 5] =
    [c::SYS_recvfrom, c::SYS_shutdown, c::SYS_getsockname, c::SYS_getpeername, c::SYS_getsockopt];

/// Known, and not permitted.
const REFUSED: [i64; 82] = [
    // Other programs and processes.
    c::SYS_execve,
    c::SYS_execveat,
    c::SYS_ptrace,
    c::SYS_process_vm_readv,
    c::SYS_process_vm_writev,
    c::SYS_process_madvise,
    c::SYS_kcmp,
    c::SYS_kill,
    c::SYS_tkill,
    c::SYS_rt_sigqueueinfo,
    c::SYS_rt_tgsigqueueinfo,
    c::SYS_pidfd_open,
    c::SYS_pidfd_getfd,
    c::SYS_pidfd_send_signal,
    c::SYS_setpgid,
    c::SYS_setsid,
    c::SYS_setpriority,
    c::SYS_sched_setaffinity,
    c::SYS_sched_setscheduler,
    c::SYS_sched_setparam,
    c::SYS_sched_setattr,
    // Who one is.
    c::SYS_setuid,
    c::SYS_setgid,
    c::SYS_setreuid,
    c::SYS_setregid,
    c::SYS_setresuid,
    c::SYS_setresgid,
    c::SYS_setgroups,
    c::SYS_setfsuid,
    c::SYS_setfsgid,
    c::SYS_capset,
    c::SYS_personality,
    // Namespaces, mounts, and roots.
    c::SYS_unshare,
    c::SYS_setns,
    c::SYS_mount,
    c::SYS_umount2,
    c::SYS_move_mount,
    c::SYS_mount_setattr,
    c::SYS_open_tree,
    c::SYS_fsopen,
    c::SYS_fsconfig,
    c::SYS_fsmount,
    c::SYS_fspick,
    c::SYS_pivot_root,
    c::SYS_chroot,
    c::SYS_chdir,
    c::SYS_fchdir,
    // Files: what Landlock does not see.
    c::SYS_truncate,
    c::SYS_fchmod,
    c::SYS_fchmodat,
    c::SYS_fchown,
    c::SYS_fchownat,
    c::SYS_setxattr,
    c::SYS_lsetxattr,
    c::SYS_fsetxattr,
    c::SYS_removexattr,
    c::SYS_lremovexattr,
    c::SYS_fremovexattr,
    c::SYS_mknodat,
    c::SYS_name_to_handle_at,
    c::SYS_open_by_handle_at,
    c::SYS_quotactl,
    c::SYS_fanotify_init,
    // Sockets that are made or named.
    c::SYS_bind,
    c::SYS_listen,
    c::SYS_accept,
    // The kernel itself.
    c::SYS_bpf,
    c::SYS_perf_event_open,
    c::SYS_userfaultfd,
    c::SYS_io_uring_setup,
    c::SYS_io_uring_enter,
    c::SYS_io_uring_register,
    c::SYS_add_key,
    c::SYS_request_key,
    c::SYS_keyctl,
    c::SYS_kexec_load,
    c::SYS_init_module,
    c::SYS_finit_module,
    c::SYS_delete_module,
    c::SYS_swapon,
    c::SYS_swapoff,
    c::SYS_reboot,
];

/// Their older siblings on x86-64.
#[cfg(target_arch = "x86_64")]
const OLDER_REFUSED: [i64; 10] = [
    c::SYS_fork,
    c::SYS_vfork,
    c::SYS_chmod,
    c::SYS_chown,
    c::SYS_lchown,
    c::SYS_mknod,
    c::SYS_creat,
    c::SYS_iopl,
    c::SYS_ioperm,
    c::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_REFUSED: [i64; 0] = [];

/// Flags of `clone` that make a namespace, or that let the tracer of the parent follow.
const NAMESPACES: i32 = c::CLONE_NEWNS
    | c::CLONE_NEWCGROUP
    | c::CLONE_NEWUTS
    | c::CLONE_NEWIPC
    | c::CLONE_NEWUSER
    | c::CLONE_NEWPID
    | c::CLONE_NEWNET
    | c::CLONE_PTRACE;
/// Commands of `fcntl`. Not among them: whom the kernel signals when a descriptor is ready.
const FCNTL: [i32; 14] = [
    c::F_DUPFD,
    c::F_DUPFD_CLOEXEC,
    c::F_GETFD,
    c::F_SETFD,
    c::F_GETFL,
    c::F_SETFL,
    c::F_GETLK,
    c::F_SETLK,
    c::F_SETLKW,
    c::F_OFD_GETLK,
    c::F_OFD_SETLK,
    c::F_OFD_SETLKW,
    c::F_ADD_SEALS,
    c::F_GET_SEALS,
];
/// Requests of `ioctl`: is it a terminal, how wide, flags of descriptors, the pages that a run wrote (`PAGEMAP_SCAN`).
/// Nothing is typed into a terminal.
const IOCTL: [u64; 6] = [c::TCGETS, c::TIOCGWINSZ, c::FIONBIO, c::FIOCLEX, c::FIONREAD, 0xc060_6610];
/// Requests of `prctl`: a thread's name, a mapping's, that nothing gains privileges.
const PRCTL: [i32; 3] = [c::PR_SET_NAME, c::PR_SET_VMA, c::PR_SET_NO_NEW_PRIVS];
/// Options of a connection.
const OPTIONS: [(i32, i32); 11] = [
    (c::SOL_SOCKET, c::SO_REUSEADDR),
    (c::SOL_SOCKET, c::SO_KEEPALIVE),
    (c::SOL_SOCKET, c::SO_LINGER),
    (c::SOL_SOCKET, c::SO_SNDBUF),
    (c::SOL_SOCKET, c::SO_RCVBUF),
    (c::IPPROTO_TCP, c::TCP_NODELAY),
    (c::IPPROTO_TCP, c::TCP_KEEPIDLE),
    (c::IPPROTO_TCP, c::TCP_KEEPINTVL),
    (c::IPPROTO_TCP, c::TCP_KEEPCNT),
    (c::IPPROTO_TCP, c::TCP_USER_TIMEOUT),
    (c::IPPROTO_TCP, c::TCP_QUICKACK),
];
/// The kind of a socket, without the flags that are told with it.
const KIND: u32 = 0xf;

/// What a server needs.
pub(super) fn of_server(reach: &Reach, process: u32) -> Calls {
    let mut calls = common(process);
    // The event loop wakes itself by one; helpers are told by one where the answer is to go. Their ends are connected.
    let pair = |kind| vec![Is::Number(0, number(c::AF_UNIX)), Is::Bits(1, KIND, number(kind))];
    calls.allow_when(c::SYS_socketpair, [pair(c::SOCK_STREAM), pair(c::SOCK_SEQPACKET)]);
    calls.allow(&SOCKETS);
    // Without an address, and without a connection that is opened by it (which Landlock does not see).
    calls.allow_when(c::SYS_sendto, [vec![Is::Null(4), Is::Bits(3, number(c::MSG_FASTOPEN), 0)]]);
    if reach.helped {
        calls.allow(&[c::SYS_recvmsg]);
        calls.allow_when(c::SYS_sendmsg, [vec![Is::Bits(2, number(c::MSG_FASTOPEN), 0)]]);
    }
    if reach.listens || reach.relays {
        calls.allow(&[c::SYS_accept4]);
    }
    if reach.relays {
        calls.allow(&[c::SYS_bind, c::SYS_listen]);
    }
    if reach.connects {
        calls.allow(&[c::SYS_connect]);
    }
    if reach.connects || reach.relays {
        let families = [c::AF_INET, c::AF_INET6].map(number);
        // Not its siblings that come as streams too (MPTCP, SCTP), which Landlock does not see.
        let protocols = [0, c::IPPROTO_TCP].map(number);
        let tcp = families.into_iter().flat_map(|family| {
            let stream = Is::Bits(1, KIND, number(c::SOCK_STREAM));
            protocols.map(|protocol| vec![Is::Number(0, family), stream, Is::Number(2, protocol)])
        });
        calls.allow_when(c::SYS_socket, tcp);
    }
    if reach.connects || reach.listens || reach.relays {
        let options =
            OPTIONS.map(|(level, name)| vec![Is::Number(1, number(level)), Is::Number(2, number(name))]);
        calls.allow_when(c::SYS_setsockopt, options);
    }
    calls.refuse(&[c::SYS_socket, c::SYS_connect, c::SYS_accept4, c::SYS_setsockopt]);
    calls.refuse(&[c::SYS_sendmsg, c::SYS_sendmmsg, c::SYS_recvmsg, c::SYS_recvmmsg]);
    calls
}

/// What a helper needs that asks the system's resolver, and connects to the container engine: datagrams, the sockets of the
/// resolver's modules, the kernel's list of addresses. It listens to nobody and starts nothing.
pub(super) fn of_names(process: u32) -> Calls {
    let mut calls = common(process);
    calls.allow(&SOCKETS);
    calls.allow(&[c::SYS_connect, c::SYS_bind, c::SYS_setsockopt, c::SYS_socketpair]);
    calls.allow(&[c::SYS_sendto, c::SYS_sendmsg, c::SYS_sendmmsg, c::SYS_recvmsg, c::SYS_recvmmsg]);
    let inet = [c::AF_INET, c::AF_INET6].into_iter().flat_map(|family| {
        [c::SOCK_STREAM, c::SOCK_DGRAM]
            .map(|kind| vec![Is::Number(0, number(family)), Is::Bits(1, KIND, number(kind))])
    });
    calls.allow_when(c::SYS_socket, inet);
    let netlink = vec![Is::Number(0, number(c::AF_NETLINK)), Is::Number(2, number(c::NETLINK_ROUTE))];
    calls.allow_when(c::SYS_socket, [vec![Is::Number(0, number(c::AF_UNIX))], netlink]);
    calls
}

/// What a helper needs that opens files and hands them over. It has one socket, and makes none.
pub(super) fn of_files(process: u32) -> Calls {
    let mut calls = common(process);
    calls.allow(&[c::SYS_sendmsg, c::SYS_recvmsg]);
    calls
}

fn common(process: u32) -> Calls {
    let mut calls = Calls::default();
    for list in [&MEMORY[..], &THREADS, &SELF, &DESCRIPTORS, &FILES, &OLDER] {
        calls.allow(list);
    }
    // A thread, and neither a process nor a namespace. `clone3`, whose flags no filter can see, does not exist.
    let thread = Is::Bits(0, number(NAMESPACES | c::CLONE_THREAD), number(c::CLONE_THREAD));
    calls.allow_when(c::SYS_clone, [vec![thread]]);
    // A signal to a thread of this process, which is how it ends itself.
    calls.allow_when(c::SYS_tgkill, [vec![Is::Number(0, process)]]);
    calls.allow_when(c::SYS_prlimit64, [vec![Is::Number(0, 0)]]);
    calls.allow_when(c::SYS_fcntl, FCNTL.map(|command| vec![Is::Number(1, number(command))]));
    // The kernel takes a request for 32 bits.
    #[allow(clippy::cast_possible_truncation, reason = "requests have 32 bits")]
    calls.allow_when(c::SYS_ioctl, IOCTL.map(|request| vec![Is::Number(1, request as u32)]));
    calls.allow_when(c::SYS_prctl, PRCTL.map(|option| vec![Is::Number(0, number(option))]));
    calls.refuse(&REFUSED);
    calls.refuse(&OLDER_REFUSED);
    calls
}

/// A constant of C's as the kernel compares it.
fn number(constant: i32) -> u32 {
    constant.cast_unsigned()
}
