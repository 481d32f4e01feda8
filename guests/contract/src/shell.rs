//! What `guests/shell/interpreter.c` calls.

pub use crate::abi::{Borrowed, Given};

/// The shell behind `wit/interpreter.wit`. There is one, so its functions are called without a value.
pub trait Shell {
    /// Makes the session, while the image is built.
    fn start();
    /// Lets the shell draw another seed for `$RANDOM`, unless a script has set it.
    fn reseed();
    /// Runs a command line in a folder (none: where the last one ended); the answer is its exit status.
    /// `refresh_environment`: the environment differs from the one that was seen last.
    fn run(source: &str, directory: Option<&str>, refresh_environment: bool) -> i32;
    /// The value of a variable as the JSON text of a typed value; none: there is no such variable.
    fn get(name: &str) -> Option<String>;
    /// Sets an exported variable from JSON text; false: it is neither a string nor a number, or has no fitting name.
    fn set(name: &str, json: &str) -> bool;
    /// The variables as JSON text, as `wit/interpreter.wit` says.
    fn variables() -> String;
    /// A new session.
    fn reset();
}

/// Exports the functions of a [`Shell`] under the names that `interpreter.c` calls.
#[macro_export]
macro_rules! export_shell {
    ($shell:ty) => {
        const _: () = {
            use $crate::shell::{Borrowed, Given, Shell};

            #[unsafe(no_mangle)]
            extern "C" fn shell_start() {
                <$shell as Shell>::start();
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_reseed() {
                <$shell as Shell>::reseed();
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_run(source: Borrowed, directory: Borrowed, refresh_environment: bool) -> i32 {
                // SAFETY: the strings are `interpreter.c`'s, which keeps them until the call ends; those of the
                // component model are UTF-8.
                let (source, directory) = unsafe { (source.text(), directory.text()) };
                <$shell as Shell>::run(source.unwrap_or_default(), directory, refresh_environment)
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_get(name: Borrowed) -> Given {
                // SAFETY: as in `shell_run`.
                let name = unsafe { name.text() };
                <$shell as Shell>::get(name.unwrap_or_default()).map_or(Given::none(), Given::from)
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_set(name: Borrowed, json: Borrowed) -> bool {
                // SAFETY: as in `shell_run`.
                let (name, json) = unsafe { (name.text(), json.text()) };
                <$shell as Shell>::set(name.unwrap_or_default(), json.unwrap_or_default())
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_variables() -> Given {
                <$shell as Shell>::variables().into()
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_reset() {
                <$shell as Shell>::reset();
            }

            #[unsafe(no_mangle)]
            extern "C" fn shell_freed() -> usize {
                $crate::heap::freed()
            }
        };
    };
}
