//! The order of requests on one connection: where each stands in line is decided when its line has been read.
//!
//! The library begins a task for each request, and tasks begin in any order.

use std::sync::Arc;

use dormouse_core::arrival::{Arrival, Arrivals};
use dormouse_core::sandbox::Owner;
use dormouse_tools::Surface;
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, GetExtensions as _, JsonObject};
use rmcp::service::RequestContext;

/// The line of one connection.
pub(crate) struct Order {
    surface: Arc<Surface>,
    owner: Owner,
    arrivals: Arrivals,
}

/// Travels with a request.
#[derive(Clone)]
struct Place(Arc<Arrival>);

impl Order {
    /// Of a connection whose every request is this owner's.
    pub(crate) fn new(surface: Arc<Surface>, owner: Owner) -> Self {
        Self { surface, owner, arrivals: Arrivals::default() }
    }

    /// Gives a request that has just been read its place. Those that touch no sandbox get none.
    pub(crate) fn place(&self, request: &mut ClientRequest) {
        let touches = match request {
            ClientRequest::CallToolRequest(call) => {
                let nothing = JsonObject::new();
                let arguments = call.params.arguments.as_ref().unwrap_or(&nothing);
                self.surface.touches(&call.params.name, arguments, &self.owner)
            }
            ClientRequest::ReadResourceRequest(read) => {
                self.surface.touches_resource(&read.params.uri, &self.owner)
            }
            ClientRequest::ListResourcesRequest(_) => self.surface.touches_list(),
            _ => return,
        };
        let place = Place(Arc::new(self.arrivals.arrive(touches)));
        request.extensions_mut().insert(place);
    }
}

/// Does the work of a request when it is its turn to begin.
pub(crate) async fn in_order<T>(context: &RequestContext<RoleServer>, work: impl Future<Output = T>) -> T {
    match context.extensions.get::<Place>() {
        Some(Place(arrival)) => arrival.lead(work).await,
        None => work.await,
    }
}
