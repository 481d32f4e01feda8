//! The helper for images without a shell: a static busybox, which an init container copies into a folder of the pod.
//!
//! Owns: where it lies, the container that puts it there, and the lines of a template for it. What an image has itself comes first.

use serde_json::{Value as Json, json};

/// Where it is mounted, so that it cannot be written.
pub(crate) const PLACE: &str = "/opt/dormouse";
/// The volume, and the init container.
const NAME: &str = "dormouse-helper";
/// Most bytes of it.
const BYTES: u64 = 16 << 20;
/// Copies the program that `cp` itself is in a helper image, with a name for each of its commands.
const COPY: &str = r#"cd /opt/dormouse && cp /proc/self/exe busybox && for name in $(./busybox --list); do
  [ "$name" = busybox ] || ln -s busybox "$name" || exit 1
done && [ -x sh ] && [ -x tar ]"#;
/// What a program of the helper's shell begins with: its commands stand behind the image's own.
const FIND: &str =
    "PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}:/opt/dormouse; export PATH\n";

/// A shell that runs a script: the image's, or the helper's.
pub(crate) fn shell(helped: bool, script: &str) -> [String; 3] {
    match helped {
        true => [format!("{PLACE}/sh"), "-c".into(), format!("{FIND}{script}")],
        false => ["sh", "-c", script].map(str::to_owned),
    }
}

/// The init container that puts it there, confined as the container whose fields these are.
pub(crate) fn container(image: &str, security: &Json, resources: &Json) -> Json {
    json!({
        "name": NAME,
        "image": image,
        "command": ["sh", "-c", COPY],
        "securityContext": security,
        "resources": resources,
        "volumeMounts": [{"name": NAME, "mountPath": PLACE}],
    })
}

/// What mounts it in the container of a sandbox.
pub(crate) fn mount() -> Json {
    json!({"name": NAME, "mountPath": PLACE, "readOnly": true})
}

/// The volume that it is in.
pub(crate) fn volume() -> Json {
    json!({"name": NAME, "emptyDir": {"medium": "Memory", "sizeLimit": BYTES.to_string()}})
}

/// Whether a container has it.
pub(crate) fn is_mounted(container: &Json) -> bool {
    let mounts = container.pointer("/volumeMounts").and_then(Json::as_array);
    mounts.into_iter().flatten().any(|mount| {
        mount.get("mountPath").and_then(Json::as_str) == Some(PLACE)
            && mount.get("readOnly").and_then(Json::as_bool) == Some(true)
    })
}

/// The lines that a template needs for it, below `podTemplate.spec`, as JSON.
pub(crate) fn lines(image: &str, keep: &str) -> String {
    let security = json!({
        "allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    let resources = json!({"limits": {"cpu": "1", "memory": "64Mi"}});
    let command = shell(true, keep);
    format!(
        "add to `podTemplate.spec`: \"initContainers\": [{}], \"volumes\": [{}]; and to the sandbox's container: \
         \"command\": {}, \"volumeMounts\": [{}]",
        container(image, &security, &resources),
        volume(),
        json!(command),
        mount(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_one_that_the_scripts_name() {
        assert!(COPY.contains(PLACE) && FIND.trim_end().contains(&format!(":{PLACE};")));
        assert!(is_mounted(&json!({"volumeMounts": [mount()]})));
        assert!(!is_mounted(&json!({"volumeMounts": [{"name": "x", "mountPath": PLACE}]})));
        assert_eq!(shell(false, "x"), ["sh", "-c", "x"]);
        let lines = lines("busybox:1", "wait");
        for part in ["initContainers", "busybox:1", "/opt/dormouse/sh", "\"readOnly\":true"] {
            assert!(lines.contains(part), "{lines}");
        }
    }
}
