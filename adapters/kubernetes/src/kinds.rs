//! The kinds of objects that this provider knows, and how they are addressed.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

/// The group of sandboxes, and that of claims, pools and templates.
pub(crate) const AGENTS: &str = "agents.x-k8s.io";
pub(crate) const EXTENSIONS: &str = "extensions.agents.x-k8s.io";
/// The version of both that is spoken.
pub(crate) const VERSION: &str = "v1beta1";

/// The container of a pod of ours that is its sandbox's.
pub(crate) const CONTAINER: &str = "sandbox";

/// A kind of object in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Pod,
    Policy,
    Volume,
    Sandbox,
    Claim,
    Pool,
    Template,
}

impl Kind {
    /// Group, version, kind and the plural that its paths have.
    pub(crate) fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Pod => ("", "v1", "Pod", "pods"),
            Self::Policy => ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
            Self::Volume => ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
            Self::Sandbox => (AGENTS, VERSION, "Sandbox", "sandboxes"),
            Self::Claim => (EXTENSIONS, VERSION, "SandboxClaim", "sandboxclaims"),
            Self::Pool => (EXTENSIONS, VERSION, "SandboxWarmPool", "sandboxwarmpools"),
            Self::Template => (EXTENSIONS, VERSION, "SandboxTemplate", "sandboxtemplates"),
        }
    }

    /// What `apiVersion` says.
    pub(crate) fn api_version(self) -> String {
        let (group, version, ..) = self.names();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = self.names();
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    /// The objects of this kind.
    pub(crate) fn api(self, client: &kube::Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), namespace, &self.resource())
    }
}
