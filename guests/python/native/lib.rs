//! The extensions in one library, since each would bring Rust's own. What they export is `PyInit_jiter`, `PyInit__pydantic_core` and
//! `PyInit_rpds`, which `start.c` names to the interpreter.

pub use _pydantic_core as pydantic_core;
pub use jiter_python as jiter;
pub use rpds;
