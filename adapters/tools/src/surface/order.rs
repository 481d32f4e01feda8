//! What a call touches, for doors that begin calls side by side: see [`arrival`](dormouse_core::arrival).
//!
//! Most calls come after those before them that name the same sandbox, until these stand in its queue. Making and destroying a
//! sandbox is waited for to its end, since names mean something else then; so is what changes a sandbox's checkpoints, by those
//! who name checkpoints without standing in the queue. Who only looks waits for what makes and removes sandboxes, and for no
//! run.

use dormouse_core::arrival::{Lane, Touches, Until};
use dormouse_core::sandbox::{Handle, Owner};
use serde_json::{Map, Value as Json};

use super::Surface;
use crate::profile::Profile;
use crate::profiles::{CODE, CODEGEN, RLM};
use crate::resource;
use crate::spec::{Field, Order, Role};

impl Surface {
    /// What a call of a tool with these arguments touches, as sandboxes are named now. Nothing is checked.
    pub fn touches(&self, name: &str, arguments: &Map<String, Json>, owner: &Owner) -> Touches {
        let (Some(services), Some((profile, tool))) = (self.services(), self.find(name)) else {
            return Touches::default();
        };
        let lanes = |handle: &Handle<'_>| services.sandboxes.lanes(owner, handle);
        let sandbox: Vec<Lane> = match profile {
            Profile::Eval => return Touches::default(),
            Profile::Rlm => lanes(&Handle::SessionKey(&services.key_of(RLM))),
            Profile::Codegen => lanes(&Handle::SessionKey(&services.key_of(CODEGEN))),
            Profile::Code => lanes(&Handle::SessionKey(&services.key_of(CODE))),
            Profile::Sprites | Profile::Sandbox => {
                let named = given(tool.fields(), arguments, Role::Sandbox).map(Handle::IdOrName);
                let keyed = given(tool.fields(), arguments, Role::SessionKey).map(Handle::SessionKey);
                named.iter().chain(&keyed).flat_map(lanes).collect()
            }
        };
        let checkpoints = || {
            sandbox.iter().filter_map(|lane| match lane {
                Lane::Named(name) => Some(Lane::Checkpoints(name.clone())),
                _ => None,
            })
        };
        let after = Touches::default().after(sandbox.clone());
        let works = || after.clone().holding(Until::Entered, sandbox.clone());
        match tool.order() {
            Order::Apart => Touches::default(),
            Order::Lists => self.touches_list(),
            Order::Looks => after.holding(Until::Ended, sandbox.clone()),
            Order::Waits => after,
            Order::Works => works(),
            Order::Saves => works().holding(Until::Ended, checkpoints()),
            Order::Forks if given(tool.fields(), arguments, Role::Checkpoint).is_none() => {
                works().holding(Until::Ended, [Lane::All])
            }
            Order::Forks | Order::Checkpoints => after
                .after(checkpoints())
                .holding(Until::Ended, checkpoints())
                .holding(Until::Ended, [Lane::All]),
            Order::Makes => {
                let after = after.after([Lane::Listed]);
                after.holding(Until::Ended, sandbox.clone()).holding(Until::Ended, [Lane::All])
            }
        }
    }

    /// The wall-clock limit of a call in milliseconds, for clients that show how far it is: its argument, else the tool's default.
    /// None for a tool that has no such limit.
    pub fn time_limit(&self, name: &str, arguments: &Map<String, Json>) -> Option<f64> {
        let (_, tool) = self.find(name)?;
        let field = tool.fields().iter().find(|field| field.role == Some(Role::TimeLimit))?;
        let asked = arguments.get(field.name).map(Json::as_f64);
        asked.unwrap_or_else(|| field.default_number())
    }

    /// What listing all sandboxes, or the artifacts in them, touches.
    pub fn touches_list(&self) -> Touches {
        Touches::default().after([Lane::All]).holding(Until::Ended, [Lane::Listed])
    }

    /// What reading a file by its address touches.
    pub fn touches_resource(&self, uri: &str, owner: &Owner) -> Touches {
        let (Some(services), Some(sandbox)) = (self.services(), resource::sandbox(uri)) else {
            return Touches::default();
        };
        let lanes = services.sandboxes.lanes(owner, &Handle::IdOrName(&sandbox));
        Touches::default().after(lanes.clone()).holding(Until::Entered, lanes)
    }
}

/// The text of the argument with this role. An empty one counts as left out.
fn given<'a>(fields: &[Field], arguments: &'a Map<String, Json>, role: Role) -> Option<&'a str> {
    let field = fields.iter().find(|field| field.role == Some(role))?;
    arguments.get(field.name).and_then(Json::as_str).filter(|text| !text.is_empty())
}
