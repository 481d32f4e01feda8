//! What the arguments of `serve` mean: where it listens, who may call, by which names.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use dormouse::{Error, ErrorCode, Result};
use dormouse_rest::Tokens;
use dormouse_rest::door::Origins;

use super::wall::Further;
use super::{Mcp, source, state_folder, tools};
use crate::args::ServeArgs;

/// Largest file of tokens, in bytes (4 MiB).
const MAX_TOKENS: u64 = 4 << 20;

/// What `serve` shall do.
pub(crate) struct Serve {
    /// The tools, as for `mcp`; there is always a state folder.
    pub(crate) tools: Mcp,
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Who has which token. None: every caller is the local owner.
    pub(crate) tokens: Option<Tokens>,
    /// Further names by which it may be called.
    pub(crate) hosts: Vec<String>,
    /// Sites whose pages may call.
    pub(crate) origins: Origins,
}

/// What the arguments of `serve` mean. Reads the tokens.
pub(crate) fn serve(arguments: &ServeArgs) -> Result<Serve> {
    let mut tools = tools(&arguments.tools, Further::server())?;
    if tools.state.is_none() {
        tools.state = Some(state_folder(None)?);
    }
    let listen = address(&arguments.listen)?;
    let tokens = arguments.token_file.as_deref().map(tokens).transpose()?;
    tools.policy.owners_share = tokens.as_ref().is_some_and(|tokens| tokens.owners() > 1);
    if tokens.is_none() && !listen.ip().is_loopback() {
        return Err(Error::args_invalid(format!(
            "`--listen {listen}` would let everybody on the network call, because there are no tokens"
        ))
        .with_hint("name a file of tokens with --token-file, or listen on 127.0.0.1"));
    }
    let origins = Origins::new(&arguments.allowed_origins)?;
    Ok(Serve { tools, listen, tokens, hosts: arguments.allowed_hosts.clone(), origins })
}

fn address(text: &str) -> Result<SocketAddr> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(text).parse().map_err(|_| {
        Error::args_invalid(format!("`--listen`: `{}` is not an address and a port", text.escape_debug()))
            .with_hint("write `127.0.0.1:3008`, or `[::1]:3008`")
    })
}

/// The tokens of a file that nobody but its owner, this user or root, can read.
fn tokens(path: &Path) -> Result<Tokens> {
    let shown = path.display().to_string().escape_debug().to_string();
    let refuse = |why: &str| {
        Error::new(ErrorCode::PathDenied, format!("`--token-file`: `{shown}` {why}"))
            .with_hint("make it a file that only you can read (chmod 600)")
    };
    let failed = |error: std::io::Error| refuse(&format!("cannot be read: {}", source::plain(&error)));
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(refuse("is not a regular file"));
    }
    if about.mode() & 0o077 != 0 {
        return Err(refuse("can be read or written by others"));
    }
    if about.uid() != 0 && about.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("belongs to another user"));
    }
    let mut text = String::new();
    file.take(MAX_TOKENS + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_TOKENS {
        return Err(refuse("is larger than 4 MiB"));
    }
    Tokens::parse(&text)
}
