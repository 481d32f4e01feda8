//! What a file operation answers when it does not succeed.
//!
//! Owns: the reasons, their names in `wasi:filesystem/types`, and their wording for people who call from outside.
//! Does not own: when each one applies; the operations say so.

use dormouse_types::{Error, ErrorCode, GuestPath};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $wasi:literal, $text:literal;)*) => {
        /// Why an operation was refused. Each is one `error-code` of `wasi:filesystem/types`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        pub enum Errno { $($(#[$doc])* #[error($text)] $name,)* }

        impl Errno {
            /// Every reason.
            pub const ALL: &[Errno] = &[$(Errno::$name,)*];

            /// The name of the `error-code` in `wasi:filesystem/types`.
            pub fn wasi(self) -> &'static str {
                match self { $(Errno::$name => $wasi,)* }
            }
        }
    };
}

reasons! {
    /// The handle is not open for this, or its tree was replaced.
    BadDescriptor = "bad-descriptor", "the handle is not open for this";
    /// `/` and the names `.` and `..` cannot be removed or renamed.
    Busy = "busy", "it is in use";
    /// The two folders belong to different trees.
    CrossDevice = "cross-device", "the other folder belongs to another tree";
    /// The name is taken.
    Exists = "exist", "it exists already";
    /// The size or the offset is past [`Quota::MAX_FILE`](crate::Quota::MAX_FILE).
    FileTooLarge = "file-too-large", "a file cannot be that large";
    /// A flag, a name with NUL, or a folder that would move into itself.
    Invalid = "invalid", "that cannot be done with it";
    /// A saved block is gone or damaged.
    Io = "io", "its saved content is gone or damaged";
    /// A folder stands where a file is needed.
    IsDirectory = "is-directory", "it is a folder";
    /// More than 40 symbolic links on the way.
    Loop = "loop", "too many symbolic links lead to it";
    /// A name, a path or a link's target is too long, or the folder would be too deep.
    NameTooLong = "name-too-long", "its name is too long, or it lies too deep";
    /// Nothing has this name.
    NoEntry = "no-entry", "it does not exist";
    /// The quota of bytes or of names is used up.
    NoSpace = "insufficient-space", "the sandbox's files have no space left";
    /// Something else stands where a folder is needed.
    NotDirectory = "not-directory", "it is not a folder";
    /// The folder has entries.
    NotEmpty = "not-empty", "the folder is not empty";
    /// The path leads out of the folder it starts from, or the folder was granted for reading only.
    NotPermitted = "not-permitted", "it is not permitted";
    /// The file has as many names as one can have.
    TooManyLinks = "too-many-links", "the file has too many names";
}

impl Errno {
    /// The reason in the words of the sandbox's errors: `not_found`, `limit_disk`, `path_denied`, `busy`, `state_damaged` or
    /// `args_invalid`, with the path.
    #[must_use]
    pub fn at(self, path: &GuestPath) -> Error {
        let shown = path.as_str().escape_debug();
        let error = |code, hint: &str| Error::new(code, format!("`{shown}`: {self}")).with_hint(hint);
        match self {
            Self::NoEntry => error(ErrorCode::NotFound, "list the folder to see what there is"),
            Self::NoSpace => {
                error(ErrorCode::LimitDisk, "remove files, or create a sandbox with a larger quota for them")
            }
            Self::FileTooLarge => error(ErrorCode::LimitDisk, "keep it in several files"),
            Self::NotPermitted => error(ErrorCode::PathDenied, "links in a sandbox cannot lead outside it"),
            Self::Busy => error(ErrorCode::Busy, "name something below it"),
            Self::Io => error(ErrorCode::StateDamaged, "restore an earlier checkpoint"),
            Self::NotEmpty => {
                error(ErrorCode::ArgsInvalid, "to remove it with all that it holds, say `recursive`")
            }
            Self::IsDirectory => {
                error(ErrorCode::ArgsInvalid, "name a file in it; list the folder to see what there is")
            }
            Self::NotDirectory => {
                error(ErrorCode::ArgsInvalid, "name a folder; list the one above it to see what there is")
            }
            Self::Exists => error(ErrorCode::ArgsInvalid, "choose another name, or remove what has this one"),
            Self::NameTooLong => error(
                ErrorCode::ArgsInvalid,
                "a name has at most 255 bytes; choose a shorter one, or a folder further up",
            ),
            Self::Loop => error(ErrorCode::ArgsInvalid, "name the target of the links"),
            Self::BadDescriptor | Self::CrossDevice | Self::Invalid | Self::TooManyLinks => {
                error(ErrorCode::ArgsInvalid, "list the folder that contains it to see what it is")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_reasons_share_a_name() {
        let mut names: Vec<&str> = Errno::ALL.iter().map(|errno| errno.wasi()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Errno::ALL.len());
    }

    #[test]
    fn an_error_names_the_path_and_what_to_do() {
        let error = Errno::NoSpace.at(&GuestPath::parse("/workspace/a").unwrap());
        assert_eq!(error.code(), ErrorCode::LimitDisk);
        assert_eq!(error.message(), "`/workspace/a`: the sandbox's files have no space left");
        for errno in Errno::ALL {
            let error = errno.at(&GuestPath::parse("/workspace/a").unwrap());
            assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
        }
    }
}
