//! What the API server answers to single requests: creating, reading, changing and removing objects.
//!
//! Of what Kubernetes does beside keeping objects it has what the provider relies on: changes of a version, removals under a condition,
//! pods that have time for their end, and volumes that stay for as long as a pod has them.

use hyper::Response;
use serde_json::{Value as Json, json};

use crate::answers::{Body, answer, failure, matches, text};
use crate::node::claims_of;
use crate::server::Server;

/// The resource of volumes.
pub(crate) const VOLUMES: &str = "persistentvolumeclaims";

/// Changes an object as a merge patch says.
fn merge(into: &mut Json, change: &Json) {
    let Some(fields) = change.as_object() else {
        *into = change.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    let own = into.as_object_mut().unwrap();
    for (name, value) in fields {
        if value.is_null() {
            own.remove(name);
        } else {
            merge(own.entry(name.clone()).or_insert(Json::Null), value);
        }
    }
}

fn conflict(plural: &str, name: &str) -> Response<Body> {
    failure(409, "Conflict", &format!("{plural} \"{name}\": the object has been modified"))
}

impl Server {
    pub(crate) fn answer(
        &self,
        verb: &str,
        plural: &str,
        name: Option<String>,
        mut object: Json,
        selector: Option<&str>,
    ) -> Response<Body> {
        let missing = |name: &str| failure(404, "NotFound", &format!("{plural} \"{name}\" not found"));
        let _write = self.writes.lock().unwrap();
        match (verb, name) {
            ("create", None) if plural == "selfsubjectaccessreviews" => self.review(object),
            ("create", None) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                if self.get(plural, &name).is_some() {
                    return failure(409, "AlreadyExists", &format!("{plural} \"{name}\" already exists"));
                }
                self.put(plural, object);
                answer(201, &self.get(plural, &name).unwrap_or_default())
            }
            ("patch", Some(name)) => {
                object["metadata"]["name"] = json!(name);
                self.put(plural, object);
                text(&self.get(plural, &name).unwrap_or_default())
            }
            ("merge", Some(name)) => {
                let Some(mut there) = self.get(plural, &name) else { return missing(&name) };
                let version = &object["metadata"]["resourceVersion"];
                if !version.is_null() && *version != there["metadata"]["resourceVersion"] {
                    return conflict(plural, &name);
                }
                merge(&mut there, &object);
                self.put(plural, there);
                text(&self.get(plural, &name).unwrap_or_default())
            }
            ("get", Some(name)) => {
                self.get(plural, &name).map_or_else(|| missing(&name), |object| text(&object))
            }
            ("delete", Some(name)) => {
                let Some(there) = self.get(plural, &name) else { return missing(&name) };
                for field in ["uid", "resourceVersion"] {
                    let wanted = &object["preconditions"][field];
                    if !wanted.is_null() && *wanted != there["metadata"][field] {
                        return conflict(plural, &name);
                    }
                }
                let grace = object["gracePeriodSeconds"].as_u64().unwrap_or_default();
                let stays = (plural == "pods" && grace > 0) || (plural == VOLUMES && self.is_mounted(&name));
                if stays {
                    self.mark(plural, there.clone());
                } else {
                    self.remove(plural, &name);
                }
                text(&there)
            }
            ("list", None) => {
                let store = self.store.lock().unwrap();
                let items: Vec<Json> = store
                    .objects
                    .iter()
                    .filter(|((kind, _), object)| kind == plural && matches(object, selector))
                    .map(|(_, object)| object.clone())
                    .collect();
                text(&json!({"kind": "List", "apiVersion": "v1",
                    "metadata": {"resourceVersion": store.version.to_string()}, "items": items}))
            }
            _ => failure(405, "MethodNotAllowed", verb),
        }
    }

    fn review(&self, mut object: Json) -> Response<Body> {
        let asked = object["spec"]["resourceAttributes"].clone();
        let part = asked["subresource"].as_str().unwrap_or_default();
        let mut resource = asked["resource"].as_str().unwrap_or_default().to_owned();
        if !part.is_empty() {
            resource = format!("{resource}/{part}");
        }
        let verb = asked["verb"].as_str().unwrap_or_default().to_owned();
        let denied = self.store.lock().unwrap().denied.contains(&(verb, resource));
        object["status"] = json!({"allowed": !denied});
        answer(201, &object)
    }

    /// Notes that an object is to go.
    fn mark(&self, plural: &str, mut object: Json) {
        if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.put(plural, object);
        }
    }

    fn is_mounted(&self, claim: &str) -> bool {
        let pods = self.names("pods").into_iter().filter_map(|name| self.get("pods", &name));
        pods.flat_map(|pod| claims_of(&pod)).any(|one| one == claim)
    }

    /// Removes volumes that are to go and that no pod has any more.
    pub(crate) fn reclaim(&self) {
        for name in self.names(VOLUMES) {
            let object = self.get(VOLUMES, &name).unwrap_or_default();
            if object["metadata"]["deletionTimestamp"].is_string() && !self.is_mounted(&name) {
                self.remove(VOLUMES, &name);
            }
        }
    }
}
