//! What `guests/git/interpreter.c` calls.

pub use crate::abi::Borrowed;

/// Exports `$command`, a function `fn(Option<&str>) -> i32`, under the name that `interpreter.c` calls. It runs the command
/// that the instance's arguments name, in a folder (none: where it is), and answers its exit status.
#[macro_export]
macro_rules! export_git {
    ($command:path) => {
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn git_command(first: *const u8, count: usize) -> i32 {
                let directory = $crate::git::Borrowed::new(first, count);
                // SAFETY: the string is `interpreter.c`'s, which keeps it until the call ends; those of the component
                // model are UTF-8.
                $command(unsafe { directory.text() })
            }
        };
    };
}
