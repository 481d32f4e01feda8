//! What an object says of itself: whether a pod or a claim is ready, and how it ended.

use serde_json::Value as Json;

use crate::fault::shown;
use crate::kinds::CONTAINER;

/// Reasons of a claim that no waiting changes.
const FINAL: [&str; 7] = [
    "InvalidMetadata",
    "EnvVarsInjectionRejected",
    "VolumeClaimTemplatesError",
    "ClaimExpired",
    "SandboxExpired",
    "TemplateNotFound",
    "WarmPoolNotFound",
];
/// Reasons of a container that waits for what will not come by itself.
const STUCK: [&str; 6] = [
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];
/// Reasons of a claim under which its pod has ended.
const OVER: [&str; 7] = [
    "ClaimExpired",
    "SandboxExpired",
    SUSPENDED,
    "SandboxMissing",
    "PodFailed",
    "PodSucceeded",
    "MultiplePods",
];

/// The reason of a claim whose sandbox is suspended.
const SUSPENDED: &str = "SandboxSuspended";

/// How far an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is waited for; what it waits for itself.
    Coming(String),
    /// It can be used.
    Ready,
    /// It will never be ready; why.
    Failed(String),
    /// It has ended; why.
    Ended(String),
}

/// The text at a path of fields.
pub(crate) fn text<'a>(object: &'a Json, path: &str) -> Option<&'a str> {
    object.pointer(path).and_then(Json::as_str)
}

/// A condition: status, reason and message.
fn condition<'a>(object: &'a Json, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    let one = all.iter().find(|one| text(one, "/type") == Some(kind))?;
    let field = |path| text(one, path).unwrap_or_default();
    Some((field("/status"), field("/reason"), field("/message")))
}

fn told(reason: &str, message: &str) -> String {
    match (reason, shown(message)) {
        ("", message) => message,
        (reason, message) if message.is_empty() => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// How far a pod is.
pub(crate) fn of_pod(pod: &Json) -> State {
    let phase = text(pod, "/status/phase").unwrap_or_default();
    let own =
        (text(pod, "/status/reason").unwrap_or_default(), text(pod, "/status/message").unwrap_or_default());
    if let Some(("True", reason, message)) = condition(pod, "DisruptionTarget") {
        let what = match reason {
            "PreemptionByScheduler" => "it gave way to a pod of higher priority",
            "EvictionByEvictionAPI" => "it was evicted",
            "TerminationByKubelet" => "its node ended it for want of something, or went down",
            "DeletionByTaintManager" => "its node went away, or takes no such pods any more",
            "DeletionByPodGC" => "its node is gone",
            _ => "the cluster ended it",
        };
        return State::Ended(format!("{what} ({})", told(reason, message)));
    }
    if phase == "Failed" || phase == "Succeeded" {
        if own == ("", "") {
            // Of several containers the sandbox's own is the one to ask; that of a template may have any name.
            let ended = container_ended(pod, Some(CONTAINER)).or_else(|| container_ended(pod, None));
            return State::Ended(ended.unwrap_or_else(|| "it ended".into()));
        }
        let what = if own.0 == "Evicted" { "it was evicted" } else { "it ended" };
        return State::Ended(format!("{what} ({})", told(own.0, own.1)));
    }
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        return State::Ended("somebody removes it".into());
    }
    if let Some(why) = container_ended(pod, Some(CONTAINER)) {
        return State::Ended(why);
    }
    let statuses = pod.pointer("/status/containerStatuses").and_then(Json::as_array);
    for waiting in statuses.into_iter().flatten().filter_map(|one| one.pointer("/state/waiting")) {
        let (reason, message) =
            (text(waiting, "/reason").unwrap_or_default(), text(waiting, "/message").unwrap_or_default());
        if STUCK.contains(&reason) {
            return State::Failed(told(reason, message));
        }
    }
    if phase == "Running" && condition(pod, "Ready").is_some_and(|(status, ..)| status == "True") {
        return State::Ready;
    }
    match condition(pod, "PodScheduled") {
        Some(("False", reason, message)) => State::Coming(told(reason, message)),
        _ => State::Coming(if phase.is_empty() {
            "nothing is said of it yet".into()
        } else {
            phase.to_owned()
        }),
    }
}

/// How a container of a pod has ended, if it has: where another one goes on, the pod does. `name` none: the first that its status names.
pub(crate) fn container_ended(pod: &Json, name: Option<&str>) -> Option<String> {
    let all = pod.pointer("/status/containerStatuses")?.as_array()?;
    let own = all.iter().find(|one| name.is_none() || text(one, "/name") == name)?;
    let ended = own.pointer("/state/terminated")?;
    let why = told(text(ended, "/reason").unwrap_or_default(), text(ended, "/message").unwrap_or_default());
    Some(if why.is_empty() { "it ended".to_owned() } else { format!("it ended ({why})") })
}

/// How far a claim is. It is ready when it says so and names its sandbox.
pub(crate) fn of_claim(claim: &Json) -> State {
    if claim.pointer("/metadata/deletionTimestamp").is_some() {
        return State::Ended("somebody removes its claim".into());
    }
    match condition(claim, "Ready") {
        Some(("True", ..)) if sandbox_of(claim).is_some() => State::Ready,
        Some(("True", ..)) => State::Coming("its sandbox is not named yet".into()),
        Some((_, reason, message)) if sandbox_of(claim).is_some() && OVER.contains(&reason) => {
            State::Ended(told(reason, message))
        }
        Some((_, reason, message)) if FINAL.contains(&reason) => State::Failed(told(reason, message)),
        Some((_, reason, message)) => State::Coming(told(reason, message)),
        None => State::Coming("the controller has not looked at it yet".into()),
    }
}

/// How far a claim is whose sandbox is resumed: until the controller has seen that, it says still that it is suspended.
pub(crate) fn of_resumed_claim(claim: &Json) -> State {
    match of_claim(claim) {
        State::Ended(why) if why.starts_with(SUSPENDED) => State::Coming(why),
        state => state,
    }
}

/// The sandbox that a claim was given.
pub(crate) fn sandbox_of(claim: &Json) -> Option<&str> {
    text(claim, "/status/sandbox/name").filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(status: &Json) -> State {
        of_pod(&json!({"metadata": {"name": "p"}, "status": status}))
    }

    #[test]
    fn a_pod_is_ready_only_when_its_containers_are() {
        assert!(matches!(pod(&json!({})), State::Coming(_)));
        assert!(matches!(pod(&json!({"phase": "Running"})), State::Coming(_)));
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        assert_eq!(pod(&ready), State::Ready);
        let waits = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]});
        assert_eq!(pod(&waits), State::Coming("Unschedulable: 0/3 nodes".into()));
        let stuck = json!({"phase": "Pending", "containerStatuses": [
            {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}]});
        assert_eq!(pod(&stuck), State::Failed("ImagePullBackOff: no".into()));
    }

    /// KUB-09: a pod that is evicted, preempted, or whose node goes away.
    #[test]
    fn kub_09_how_a_pod_ended_is_told_as_what_it_is() {
        let said = |status: Json| match pod(&status) {
            State::Ended(why) => why,
            other => panic!("{other:?}"),
        };
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
        assert_eq!(said(evicted), "it was evicted (Evicted: low on memory)");
        let target = |reason| {
            json!({"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "DisruptionTarget", "status": "True", "reason": reason}]})
        };
        assert!(said(target("PreemptionByScheduler")).starts_with("it gave way to a pod of higher priority"));
        assert!(said(target("DeletionByTaintManager")).starts_with("its node went away"));
        let killed = json!({"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]});
        assert_eq!(said(killed), "it ended (OOMKilled)");
        let beside = json!({"phase": "Running", "containerStatuses": [
            {"name": "gate", "state": {"running": {}}},
            {"name": "sandbox", "state": {"terminated": {"reason": "OOMKilled"}}}]});
        assert_eq!(said(beside), "it ended (OOMKilled)");
        let both = json!({"phase": "Failed", "containerStatuses": [
            {"name": "gate", "state": {"terminated": {"reason": "Completed"}}},
            {"name": "sandbox", "state": {"terminated": {"reason": "OOMKilled"}}}]});
        assert_eq!(said(both), "it ended (OOMKilled)");
        let going = of_pod(
            &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}}),
        );
        assert!(matches!(going, State::Ended(_)));
    }

    #[test]
    fn a_claim_is_ready_when_it_says_so_and_names_its_sandbox() {
        let claim = |status: &str, reason: &str, name: &str| {
            of_claim(&json!({"status": {
                "sandbox": {"name": name},
                "conditions": [{"type": "Ready", "status": status, "reason": reason, "message": ""}]}}))
        };
        assert_eq!(claim("True", "DependenciesReady", "s"), State::Ready);
        assert!(matches!(claim("True", "DependenciesReady", ""), State::Coming(_)));
        assert_eq!(claim("False", "SandboxNotReady", ""), State::Coming("SandboxNotReady".into()));
        for reason in FINAL {
            assert_eq!(claim("False", reason, ""), State::Failed(reason.into()));
        }
        assert_eq!(claim("False", "SandboxSuspended", "s"), State::Ended("SandboxSuspended".into()));
        let resumed = of_resumed_claim(&json!({"status": {"sandbox": {"name": "s"}, "conditions": [
            {"type": "Ready", "status": "False", "reason": "SandboxSuspended", "message": "no"}]}}));
        assert_eq!(resumed, State::Coming("SandboxSuspended: no".into()));
        assert!(matches!(claim("False", "SandboxNotReady", "s"), State::Coming(_)));
    }
}
