//! Both extensions in one library, since each brings Rust's own. What they export is `PyInit_jiter` and `PyInit__pydantic_core`, which
//! `start.c` names to the interpreter.

pub use _pydantic_core as pydantic_core;
pub use jiter_python as jiter;
