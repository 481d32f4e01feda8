//! `dormouse serve`: the tools over HTTP, as MCP and as REST.

use std::io;
use std::net::{SocketAddr, TcpListener as Listening};

use dormouse::{Error, ErrorCode};
use dormouse_rest::Door;
use dormouse_rest::door::{Hosts, Times};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::serving::{Serving, asked_to_end};
use crate::args::{PlaceArgs, ServeArgs};
use crate::audit;
use crate::exit::Failure;
use crate::print;
use crate::settings::{self, Serve};

/// Serves until the process is asked to end.
pub(crate) fn run(place: &PlaceArgs, arguments: &ServeArgs) -> Result<u8, Failure> {
    let Serve { mut tools, listen, tokens, hosts, origins } = settings::serve(arguments)?;
    let unreachable = |error| cannot_listen(listen, error);
    // Before the process is confined: after that it makes no sockets that listen.
    let listening = Listening::bind(listen).map_err(unreachable)?;
    listening.set_nonblocking(true).map_err(unreachable)?;
    tools.confined.reach.listens = true;
    audit::note("serve", &tools.exceptions)?;
    let serving = Serving::new(place, tools)?;
    let (surface, behind_routes) = (serving.surface()?, serving.routes()?);
    let served = async {
        let ended = asked_to_end();
        let listener = TcpListener::from_std(listening).map_err(unreachable)?;
        let address = listener.local_addr().map_err(unreachable)?;
        let (owners, closing) = (surface.owners().clone(), CancellationToken::new());
        let routes = dormouse_rest::router(behind_routes, tokens.is_some(), &closing)
            .merge(dormouse_mcp::http(surface, &closing));
        let hosts = Hosts::new(address, &hosts);
        let door = Door { hosts, origins, tokens, owners, body_time: Door::BODY_TIME };
        print::out(&format!("http://{address}\n"))?;
        dormouse_rest::serve(listener, door.before(routes), Times::default(), ended, &closing).await;
        Ok(0)
    };
    serving.run(served)?
}

/// Why nobody can be served at an address.
fn cannot_listen(listen: SocketAddr, error: io::Error) -> Error {
    let (code, why, hint) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            ErrorCode::InvalidState,
            "another program listens there",
            "end it, or choose another port; port 0 is any that is free",
        ),
        io::ErrorKind::AddrNotAvailable => {
            (ErrorCode::ArgsInvalid, "this machine has no such address", "choose an address of this machine")
        }
        io::ErrorKind::PermissionDenied => {
            (ErrorCode::ArgsInvalid, "this user may not listen there", "choose a port of 1024 or more")
        }
        _ => return Error::internal(format!("`--listen`: `{listen}` cannot be listened on"), error),
    };
    Error::new(code, format!("`--listen`: `{listen}` cannot be listened on: {why}")).with_hint(hint)
}
