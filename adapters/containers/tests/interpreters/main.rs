//! The interpreters as processes of this machine: what a container's interpreter is asked, and what it must answer.

mod calls;
mod golden;
mod hostile;
mod kept;
mod output;
mod support;
mod values;
