//! What a call touches, for doors that begin calls side by side: see [`arrival`](dormouse_core::arrival).
//!
//! Most calls come after those before them that name the same sandbox, until these stand in its queue. Making and destroying a
//! sandbox is waited for to its end, since names mean something else then; so is what changes a sandbox's checkpoints, by those
//! who name checkpoints without standing in the queue. Who only looks waits for what makes and removes sandboxes, and for no
//! run.

use dormouse_core::arrival::{Lane, Touches, Until};
use dormouse_core::sandbox::{Handle, Owner};
use serde_json::{Map, Value as Json};

use crate::resource;
use crate::surface::{Profile, Surface};
use crate::tool::{CODEGEN, RLM};

impl Surface {
    /// What a call of a tool with these arguments touches, as sandboxes are named now. Nothing is checked.
    pub fn touches(&self, name: &str, arguments: &Map<String, Json>, owner: &Owner) -> Touches {
        let Some(kept) = self.kept() else { return Touches::default() };
        // An empty text counts as left out.
        let text = |field: &str| arguments.get(field).and_then(Json::as_str).filter(|text| !text.is_empty());
        let lanes = |handle: &Handle<'_>| kept.sandboxes.lanes(owner, handle);
        let sandbox: Vec<Lane> = match self.profile_of(name).unwrap_or_default() {
            Profile::Eval => return Touches::default(),
            Profile::Rlm => lanes(&Handle::SessionKey(&kept.key_of(RLM))),
            Profile::Codegen => lanes(&Handle::SessionKey(&kept.key_of(CODEGEN))),
            Profile::Sprites => {
                let named = text("name").map(|name| lanes(&Handle::IdOrName(name)));
                named.unwrap_or_default()
            }
            Profile::Sandbox => {
                let name = if name == "sandbox_create" { "name" } else { "sandbox" };
                let named = text(name).map(|name| lanes(&Handle::IdOrName(name)));
                let keyed = text("session_key").map(|key| lanes(&Handle::SessionKey(key)));
                named.into_iter().chain(keyed).flatten().collect()
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
        match name {
            "sandbox_capabilities" | "rlm_usage" => Touches::default(),
            "sandbox_list" | "sprite_list" => self.touches_list(),
            // It may wait for a job.
            "sandbox_job" => after,
            "sandbox_get" | "sandbox_list_checkpoints" => after.holding(Until::Ended, sandbox.clone()),
            "sandbox_create" | "sprite_create" | "sandbox_destroy" => {
                let after = after.after([Lane::Listed]);
                after.holding(Until::Ended, sandbox.clone()).holding(Until::Ended, [Lane::All])
            }
            "sandbox_checkpoint" | "sprite_checkpoint" | "sandbox_restore" | "sprite_restore" => {
                works().holding(Until::Ended, checkpoints())
            }
            "sandbox_fork" if text("checkpoint_id").is_none() => works().holding(Until::Ended, [Lane::All]),
            "sandbox_fork" | "sandbox_remove_checkpoint" | "sandbox_describe_checkpoint" => after
                .after(checkpoints())
                .holding(Until::Ended, checkpoints())
                .holding(Until::Ended, [Lane::All]),
            _ => works(),
        }
    }

    /// What listing all sandboxes, or the artifacts in them, touches.
    pub fn touches_list(&self) -> Touches {
        Touches::default().after([Lane::All]).holding(Until::Ended, [Lane::Listed])
    }

    /// What reading a file by its address touches.
    pub fn touches_resource(&self, uri: &str, owner: &Owner) -> Touches {
        let (Some(kept), Some(sandbox)) = (self.kept(), resource::sandbox(uri)) else {
            return Touches::default();
        };
        let lanes = kept.sandboxes.lanes(owner, &Handle::IdOrName(&sandbox));
        Touches::default().after(lanes.clone()).holding(Until::Entered, lanes)
    }
}
