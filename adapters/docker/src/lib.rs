//! The [`Provider`](dormouse_core::Provider) on a container engine.

pub mod kernel;
