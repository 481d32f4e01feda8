//! What a snippet comes to, for every kind of value, exception and surroundings (requirements S1-27, S1-29 to S1-39).

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod ahead;
mod bounds;
mod callbacks;
mod exceptions;
mod grants;
mod javascript;
mod javascript_intl;
mod javascript_network;
mod javascript_node;
mod javascript_temporal;
mod lifecycle;
mod network_secrets;
mod no_eval;
mod own_files;
mod php;
mod project;
mod python;
mod python_modules;
mod python_native;
mod python_network;
mod python_system;
mod python_turns;
mod randomness;
mod recorded;
mod session;
mod source;
mod typescript;
mod typescript_compiled;
mod typescript_files;
mod values;
mod waiting;
