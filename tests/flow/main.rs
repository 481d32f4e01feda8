//! The same runs through every front door: the crate, the command line, and MCP over standard input and output.

mod arguments;
mod cancelling;
mod command_line;
mod hostile_bytes;
mod hostile_text;
mod listing;
mod protocol_only;
mod results;
mod same_answer;
