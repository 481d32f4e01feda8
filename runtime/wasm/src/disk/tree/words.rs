//! The words of `wasi:filesystem` and those of the tree, one for the other.

use dormouse_files::{Errno, Flags, Kind, NewTime, OpenFlags, Stat};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, NewTimestamp, PathFlags,
};

const BILLION: u64 = 1_000_000_000;

/// What the tree answered, as the interface says it.
pub(in crate::disk) fn answer<T>(done: Result<T, Errno>) -> FsResult<T> {
    done.map_err(|errno| code(errno).into())
}

pub(in crate::disk) fn code(errno: Errno) -> ErrorCode {
    match errno {
        Errno::BadDescriptor => ErrorCode::BadDescriptor,
        Errno::Busy => ErrorCode::Busy,
        Errno::CrossDevice => ErrorCode::CrossDevice,
        Errno::Exists => ErrorCode::Exist,
        Errno::FileTooLarge => ErrorCode::FileTooLarge,
        Errno::Invalid => ErrorCode::Invalid,
        Errno::Io => ErrorCode::Io,
        Errno::IsDirectory => ErrorCode::IsDirectory,
        Errno::Loop => ErrorCode::Loop,
        Errno::NameTooLong => ErrorCode::NameTooLong,
        Errno::NoEntry => ErrorCode::NoEntry,
        Errno::NoSpace => ErrorCode::InsufficientSpace,
        Errno::NotDirectory => ErrorCode::NotDirectory,
        Errno::NotEmpty => ErrorCode::NotEmpty,
        Errno::NotPermitted => ErrorCode::NotPermitted,
        Errno::TooManyLinks => ErrorCode::TooManyLinks,
    }
}

pub(in crate::disk) fn follow(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

pub(in crate::disk) fn open_flags(flags: types::OpenFlags) -> OpenFlags {
    OpenFlags {
        create: flags.contains(types::OpenFlags::CREATE),
        directory: flags.contains(types::OpenFlags::DIRECTORY),
        exclusive: flags.contains(types::OpenFlags::EXCLUSIVE),
        truncate: flags.contains(types::OpenFlags::TRUNCATE),
    }
}

/// The three flags that ask for writes to be synchronised are kept by doing nothing: there is no disk to wait for.
pub(in crate::disk) fn flags(flags: DescriptorFlags) -> Flags {
    Flags {
        read: flags.contains(DescriptorFlags::READ),
        write: flags.contains(DescriptorFlags::WRITE),
        mutate: flags.contains(DescriptorFlags::MUTATE_DIRECTORY),
    }
}

pub(in crate::disk) fn descriptor_flags(flags: Flags) -> DescriptorFlags {
    let mut shown = DescriptorFlags::empty();
    for (set, flag) in [
        (flags.read, DescriptorFlags::READ),
        (flags.write, DescriptorFlags::WRITE),
        (flags.mutate, DescriptorFlags::MUTATE_DIRECTORY),
    ] {
        if set {
            shown |= flag;
        }
    }
    shown
}

pub(in crate::disk) fn kind(kind: Kind) -> DescriptorType {
    match kind {
        Kind::Folder => DescriptorType::Directory,
        Kind::File => DescriptorType::RegularFile,
        Kind::Link => DescriptorType::SymbolicLink,
    }
}

pub(in crate::disk) fn stat(stat: Stat) -> DescriptorStat {
    let shown = |time: u64| {
        let nanoseconds = u32::try_from(time % BILLION).unwrap_or_default();
        Some(Datetime { seconds: time / BILLION, nanoseconds })
    };
    DescriptorStat {
        type_: kind(stat.kind),
        link_count: stat.links,
        size: stat.size,
        data_access_timestamp: shown(stat.times.accessed),
        data_modification_timestamp: shown(stat.times.modified),
        status_change_timestamp: shown(stat.times.changed),
    }
}

/// A time to set.
///
/// # Errors
/// `overflow` past the year 2554, where 64 bits of nanoseconds end.
pub(in crate::disk) fn new_time(time: NewTimestamp) -> FsResult<NewTime> {
    match time {
        NewTimestamp::NoChange => Ok(NewTime::Keep),
        NewTimestamp::Now => Ok(NewTime::Now),
        NewTimestamp::Timestamp(time) => {
            let whole = time.seconds.checked_mul(BILLION);
            let all = whole.and_then(|whole| whole.checked_add(time.nanoseconds.into()));
            Ok(NewTime::At(all.ok_or(ErrorCode::Overflow)?))
        }
    }
}
