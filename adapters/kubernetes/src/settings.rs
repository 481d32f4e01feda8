//! What the operator allows and chooses. Read once, when the provider is made.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dormouse_containers::Patience;
use dormouse_core::limits::MIB;
use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{Error, ErrorCode, Resolve, Result};
use serde::Deserialize;

use crate::fault::HINT;
use crate::network::Network;
use crate::way::Way;

/// Longest name of an object, in bytes.
const MAX_NAME: usize = 253;
/// Longest reference of an image, in bytes.
const MAX_REFERENCE: usize = 512;

/// Fewest bytes of memory of a sandbox: 32 MiB.
const LEAST_MEMORY: u64 = 32 * MIB;

/// How sandboxes are had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each is a pod of its own, made when it is needed.
    #[default]
    Pods,
    /// Each is taken from a warm pool of agent-sandbox.
    AgentSandbox,
}

impl Mode {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::AgentSandbox => "agent-sandbox",
        }
    }
}

/// The operator's settings. By default no image and no pool is allowed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How sandboxes are had. Default pods.
    #[serde(skip)]
    pub mode: Mode,
    /// The kubeconfig. None: that of `KUBECONFIG`, else the user's own, else the account of the pod that this runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The context of it. None: its current one.
    pub context: Option<String>,
    /// Where all is made. None: the context's, else the pod's own.
    pub namespace: Option<String>,
    /// The folder in which this installation keeps its state. It tells apart what several installations made in one namespace.
    /// None: what a process leaves behind when it is killed is removed by nobody.
    #[serde(skip)]
    pub state: Option<PathBuf>,
    /// The way to the cluster, if it is known already. None: it is read from the kubeconfig when it is first needed, and anew when the
    /// cluster does not accept the credentials.
    #[serde(skip)]
    pub way: Option<Way>,
    /// Who looks up the name of the API server. None: the system, in this process.
    #[serde(skip)]
    pub names: Option<Arc<dyn Resolve>>,
    /// Pods: references of images that may be used; the first is the default.
    pub images: Vec<String>,
    /// Agent-sandbox: the pools that may be used, which stand for images; the first is the default.
    pub pools: Vec<String>,
    /// Agent-sandbox: the container of the template that is a sandbox's. None: the first.
    pub container: Option<String>,
    /// An image with a static busybox, whose shell and commands sandboxes have where their image has none. None: images need a shell.
    /// Agent-sandbox: it is the template that puts them there.
    pub helper_image: Option<String>,
    /// Pods: secrets by which images are pulled.
    pub image_pull_secrets: Vec<String>,
    /// Pods: the class of the volumes for `/workspace`, which sandboxes keep over a stop. None: it is in memory.
    pub storage_class: Option<String>,
    /// Pods: labels of the nodes that may run them.
    pub node_selector: BTreeMap<String, String>,
    /// The network that some sandboxes have. None: no sandbox has one.
    pub network: Option<Network>,
    /// Whether rules let something out of each sandbox ([`dormouse_core::network`]), and not only of those that ask for it.
    #[serde(skip)]
    pub gate: bool,
    /// Pods: the runtime class, such as one of gVisor or Kata. None: the cluster's default.
    pub runtime_class: Option<String>,
    /// Pods: what of its limits a pod requests, in percent. Default 100; less overcommits nodes.
    pub requests_percent: u8,
    /// Bytes of memory of a sandbox that asks for none, and the most that one can ask for. Default 2 GiB. With agent-sandbox it is what
    /// the templates give.
    pub memory_bytes: u64,
    /// Bytes of `/tmp`, which count as memory; at most a quarter of it. Default 64 MiB.
    pub tmp_bytes: u64,
    /// Most processor time of a sandbox, in thousandths of a core. Default 4 000.
    pub cpu_millis: u32,
    /// How long a pod may take until it is ready, in milliseconds. Default 2 minutes.
    pub ready_within_ms: u64,
    /// How long one answer of the API server may take, in milliseconds. Default 20 s.
    pub answer_within_ms: u64,
    /// How long saving, waking and restoring go on while nothing comes from the cluster, in milliseconds. Default 10 s.
    pub stall_within_ms: u64,
    /// How long each of them may take in all, in milliseconds. Default 2 minutes.
    pub transfer_within_ms: u64,
    /// How often what is left in the cluster is looked for, in milliseconds. Default 1 minute.
    pub look_every_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            kubeconfig: None,
            context: None,
            namespace: None,
            state: None,
            way: None,
            names: None,
            images: Vec::new(),
            pools: Vec::new(),
            container: None,
            helper_image: None,
            image_pull_secrets: Vec::new(),
            storage_class: None,
            node_selector: BTreeMap::new(),
            network: None,
            gate: false,
            runtime_class: None,
            requests_percent: 100,
            memory_bytes: 2 << 30,
            tmp_bytes: 64 * MIB,
            cpu_millis: 4_000,
            ready_within_ms: 120_000,
            answer_within_ms: 20_000,
            stall_within_ms: 10_000,
            transfer_within_ms: 120_000,
            look_every_ms: 60_000,
        }
    }
}

impl Settings {
    /// Reads a configuration file: JSON with the fields of this type, but `mode` and `state`.
    ///
    /// # Errors
    /// `args_invalid` for another field, and for what cannot be.
    pub fn read(text: &str) -> Result<Self> {
        let refused = |why: &dyn std::fmt::Display| {
            Error::args_invalid(format!("the configuration of Kubernetes cannot be used: {why}"))
                .with_hint("it is JSON with the fields of the guide for Kubernetes")
        };
        // An array would be taken for the fields in their order.
        if !text.trim_start().starts_with('{') {
            return Err(refused(&"it is no object"));
        }
        let settings: Self = serde_json::from_str(text).map_err(|error| refused(&error))?;
        settings.check()?;
        Ok(settings)
    }

    /// Reads the way to the cluster. Connects to nothing.
    ///
    /// # Errors
    /// `provider_unavailable` where there is none, or it cannot be read.
    pub fn find_way(&self) -> Result<Way> {
        Way::find(self.kubeconfig.as_deref(), self.context.as_deref())
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// `args_invalid`.
    pub fn check(&self) -> Result<()> {
        let names = [
            ("namespace", self.namespace.as_slice()),
            ("pools", &self.pools),
            ("container", self.container.as_slice()),
            ("image_pull_secrets", &self.image_pull_secrets),
            ("storage_class", self.storage_class.as_slice()),
            ("runtime_class", self.runtime_class.as_slice()),
        ];
        for (field, names) in names {
            names.iter().try_for_each(|name| check_name(field, name))?;
        }
        self.images.iter().chain(&self.helper_image).try_for_each(|image| check_reference(image))?;
        if let Some(network) = &self.network {
            network.allowed()?;
            let known = |name: &String| self.images.contains(name) || self.pools.contains(name);
            if let Some(other) = network.of.iter().find(|name| !known(name)) {
                let shown: String = other.escape_debug().take(80).collect();
                return Err(Error::args_invalid(format!("`network`: `{shown}` is not allowed itself"))
                    .with_hint("`for` names some of `images`, or of `pools`"));
            }
        }
        if self.memory_bytes < LEAST_MEMORY {
            return Err(Error::args_invalid(format!(
                "`memory_bytes` of {} is less than {LEAST_MEMORY}",
                self.memory_bytes
            )));
        }
        if !(1..=100).contains(&self.requests_percent) {
            return Err(Error::args_invalid(format!(
                "`requests_percent` of {} is outside 1 to 100",
                self.requests_percent
            )));
        }
        Ok(())
    }

    /// What sandboxes can be made of: images, or pools.
    pub(crate) fn offered(&self) -> &[String] {
        match self.mode {
            Mode::Pods => &self.images,
            Mode::AgentSandbox => &self.pools,
        }
    }

    /// The image or the pool that is meant, if it is allowed; none asked for means the first one.
    ///
    /// # Errors
    /// `args_invalid` for what cannot be one; `capability_unavailable` for what is not allowed.
    pub(crate) fn meant(&self, asked: Option<&str>) -> Result<&str> {
        let (what, field) = match self.mode {
            Mode::Pods => ("image", "images"),
            Mode::AgentSandbox => ("pool", "pools"),
        };
        let refused = |message: String, hint: String| {
            Err(Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(hint))
        };
        let Some(asked) = asked else {
            return self.offered().first().map(String::as_str).map_or_else(
                || {
                    refused(
                        format!("the operator allows no {field}"),
                        format!("the operator allows them in `{field}`"),
                    )
                },
                Ok,
            );
        };
        match self.mode {
            Mode::Pods => check_reference(asked)?,
            Mode::AgentSandbox => check_name("image", asked)?,
        }
        self.offered().iter().find(|allowed| *allowed == asked).map(String::as_str).map_or_else(
            || {
                let list: Vec<&str> = self.offered().iter().take(20).map(String::as_str).collect();
                refused(
                    format!("the {what} `{asked}` is not allowed"),
                    format!("the operator allows {}", list.join(", ")),
                )
            },
            Ok,
        )
    }

    /// The network of what is made of an image, or of a pool.
    pub(crate) fn network_of(&self, offered: &str) -> Option<&Network> {
        self.network.as_ref().filter(|network| network.of.iter().any(|one| one == offered))
    }

    /// Whether a pod for a sandbox like this has a container that leads to the gate. Where the image has a network of the cluster the
    /// rules would be no wall.
    pub(crate) fn has_gate(&self, offered: &str, spec: &SandboxSpec) -> bool {
        (self.gate || spec.network.is_some()) && self.network_of(offered).is_none()
    }

    pub(crate) fn ready_within(&self) -> Duration {
        Duration::from_millis(self.ready_within_ms)
    }

    /// What is expected of the cluster.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            engine: "the cluster",
            hint: HINT,
            answer_within: Duration::from_millis(self.answer_within_ms),
            stall_within: Duration::from_millis(self.stall_within_ms),
            transfer_within: Duration::from_millis(self.transfer_within_ms),
        }
    }
}

/// Refuses what no object can be called: names are DNS subdomains.
fn check_name(field: &str, name: &str) -> Result<()> {
    let fine = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inside) && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.len() <= MAX_NAME && name.split('.').all(fine) {
        return Ok(());
    }
    let shown: String = name.escape_debug().take(80).collect();
    Err(Error::args_invalid(format!("`{field}`: `{shown}` is no name of Kubernetes")).with_hint(
        "a name has lower-case letters, digits, `-` and `.`, and begins and ends with a letter or digit",
    ))
}

/// Refuses what is no reference of an image.
pub(crate) fn check_reference(image: &str) -> Result<()> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let whole = image.starts_with(|c: char| c.is_ascii_alphanumeric())
        && image.ends_with(|c: char| c.is_ascii_alphanumeric())
        && image.len() <= MAX_REFERENCE
        && image.chars().all(fine);
    if whole {
        return Ok(());
    }
    let shown: String = image.escape_debug().take(80).collect();
    Err(Error::args_invalid(format!("`{shown}` is not an image"))
        .with_hint("write NAME:TAG or NAME@sha256:DIGEST"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_with_an_unknown_field_is_refused_and_named() {
        let settings =
            Settings::read(r#"{"pools": ["python", "node"], "namespace": "boxes", "ready_within_ms": 5}"#)
                .unwrap();
        let settings = Settings { mode: Mode::AgentSandbox, ..settings };
        assert_eq!(settings.offered().len(), 2);
        assert_eq!(settings.ready_within(), Duration::from_millis(5));
        let network =
            r#"{"images": ["a:1"], "network": {"for": ["a:1"], "to": ["all"], "dns": ["1.1.1.1"]}}"#;
        assert!(Settings::read(network).unwrap().network_of("a:1").is_some());
        for bad in [
            (r#""to": ["all"]"#, r#""to": ["x"]"#),
            (r#"["a:1"], "to""#, r#"["b:1"], "to""#),
            ("dns", "ports"),
        ] {
            let text = network.replace(bad.0, bad.1);
            assert_eq!(Settings::read(&text).unwrap_err().code(), ErrorCode::ArgsInvalid, "{text}");
        }
        for bad in [r#"{"pool": "x"}"#, r#"{"state": "/x"}"#, r#"{"mode": "pods"}"#, "[]", ""] {
            assert_eq!(Settings::read(bad).unwrap_err().code(), ErrorCode::ArgsInvalid, "{bad}");
        }
        let error = Settings::read(r#"{"pool": "x"}"#).unwrap_err();
        assert!(error.message().contains("unknown field `pool`"), "{error}");
    }

    /// KUB-10: names with everything that Kubernetes forbids.
    #[test]
    fn kub_10_what_no_object_can_be_called_is_refused_before_anything_is_asked() {
        for bad in ["", "-a", "a-", "A", "a_b", "a b", "a/b", "a..b", ".a", "ä", "a\n", &"a".repeat(254)] {
            let settings = Settings { pools: vec![bad.to_owned()], ..Settings::default() };
            assert_eq!(settings.check().unwrap_err().code(), ErrorCode::ArgsInvalid, "{bad:?}");
            let settings = Settings { namespace: Some(bad.to_owned()), ..Settings::default() };
            assert_eq!(settings.check().unwrap_err().code(), ErrorCode::ArgsInvalid, "{bad:?}");
        }
        for bad in ["", "a b", "-x", "$(id)", "a;b", "a\0", "../x", "a:"] {
            assert!(check_reference(bad).is_err(), "{bad:?}");
        }
        assert!(check_reference("registry.example:5000/team/image@sha256:0123").is_ok());
    }
}
