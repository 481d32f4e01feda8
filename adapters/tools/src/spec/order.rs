//! How the calls of a tool stand to others: see `surface/order.rs` for what each of them waits for.

/// How the calls of a tool stand to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It has nothing to do with a sandbox.
    Apart,
    /// It lists all sandboxes.
    Lists,
    /// It looks at one sandbox, which must not be made or removed meanwhile.
    Looks,
    /// It comes after calls before it, and nobody waits for it: it may wait for a job.
    Waits,
    /// It works in one sandbox.
    Works,
    /// It works in one sandbox, and changes which checkpoints there are, or goes back to one.
    Saves,
    /// It changes a checkpoint without standing in its sandbox's queue.
    Checkpoints,
    /// It makes sandboxes of one, or of a checkpoint that it names.
    Forks,
    /// It makes or destroys a sandbox.
    Makes,
}
