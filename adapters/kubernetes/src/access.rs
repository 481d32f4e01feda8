//! The calls that this provider makes, and the rights that they need: one list, which the role is made from, `doctor` asks for, and
//! tests compare with the calls that a server saw.

use serde_json::{Value as Json, json};

use crate::settings::Mode;

/// A call, as a role names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The group of the objects; empty for the core's.
    pub group: &'static str,
    /// The plural of the objects, with a part of them such as `pods/exec`.
    pub resource: &'static str,
    /// What is done.
    pub verb: &'static str,
}

const fn call(group: &'static str, resource: &'static str, verb: &'static str) -> Call {
    Call { group, resource, verb }
}

/// Programs in pods. A server asks for `get` where a stream is opened by WebSocket, and since 1.35 for `create`.
const EXEC: [Call; 3] =
    [call("", "pods", "get"), call("", "pods/exec", "create"), call("", "pods/exec", "get")];

const PODS: [Call; 11] = [
    call("", "persistentvolumeclaims", "create"),
    call("", "persistentvolumeclaims", "delete"),
    call("", "persistentvolumeclaims", "get"),
    call("", "persistentvolumeclaims", "list"),
    call("", "persistentvolumeclaims", "patch"),
    call("", "pods", "create"),
    call("", "pods", "delete"),
    call("", "pods", "list"),
    call("", "pods", "watch"),
    call("networking.k8s.io", "networkpolicies", "create"),
    call("networking.k8s.io", "networkpolicies", "patch"),
];

const CLAIMS: [Call; 10] = [
    call(crate::kinds::AGENTS, "sandboxes", "get"),
    call(crate::kinds::AGENTS, "sandboxes", "patch"),
    call(crate::kinds::EXTENSIONS, "sandboxclaims", "create"),
    call(crate::kinds::EXTENSIONS, "sandboxclaims", "delete"),
    call(crate::kinds::EXTENSIONS, "sandboxclaims", "get"),
    call(crate::kinds::EXTENSIONS, "sandboxclaims", "list"),
    call(crate::kinds::EXTENSIONS, "sandboxclaims", "patch"),
    call(crate::kinds::EXTENSIONS, "sandboxclaims", "watch"),
    call(crate::kinds::EXTENSIONS, "sandboxtemplates", "get"),
    call(crate::kinds::EXTENSIONS, "sandboxwarmpools", "get"),
];

/// The calls of a mode, sorted.
pub fn calls(mode: Mode) -> Vec<Call> {
    let own: &[Call] = match mode {
        Mode::Pods => &PODS,
        Mode::AgentSandbox => &CLAIMS,
    };
    let mut all: Vec<Call> = EXEC.iter().chain(own).copied().collect();
    all.sort();
    all
}

/// A role with these rights and no others, and an account and its binding, as `kubectl apply -f -` takes them.
pub fn role(mode: Mode, namespace: &str, account: &str) -> String {
    let mut rules: Vec<Json> = Vec::new();
    let all = calls(mode);
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let same =
            rest.iter().take_while(|one| (one.group, one.resource) == (first.group, first.resource)).count();
        let (these, others) = rest.split_at(same);
        let verbs: Vec<&str> = these.iter().map(|one| one.verb).collect();
        rules.push(json!({"apiGroups": [first.group], "resources": [first.resource], "verbs": verbs}));
        rest = others;
    }
    let named = |kind: &str, api: &str, more: Json| {
        let mut object =
            json!({"apiVersion": api, "kind": kind, "metadata": {"name": account, "namespace": namespace}});
        if let (Some(object), Json::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        object
    };
    let rights = "rbac.authorization.k8s.io/v1";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        named("ServiceAccount", "v1", json!({})),
        named("Role", rights, json!({"rules": rules})),
        named("RoleBinding", rights, json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        })),
    ]});
    format!("{list:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;

    /// KUB-07: an account that may do more than it needs.
    #[test]
    fn kub_07_a_role_has_the_rights_of_the_calls_and_no_others() {
        for mode in [Mode::Pods, Mode::AgentSandbox] {
            let list: Json = serde_json::from_str(&role(mode, "boxes", "dormouse")).unwrap();
            let rules = list["items"][1]["rules"].as_array().unwrap();
            let mut given = Vec::new();
            for rule in rules {
                for verb in rule["verbs"].as_array().unwrap() {
                    let text = |of: &Json| of.as_str().unwrap().to_owned();
                    given.push((text(&rule["apiGroups"][0]), text(&rule["resources"][0]), text(verb)));
                }
            }
            let needed: Vec<_> = calls(mode)
                .iter()
                .map(|one| (one.group.to_owned(), one.resource.to_owned(), one.verb.to_owned()))
                .collect();
            assert_eq!(given, needed);
            assert!(given.iter().all(|(_, resource, verb)| resource != "secrets"
                && verb != "*"
                && verb != "deletecollection"));
            assert_eq!(list["items"][1]["kind"], "Role", "of one namespace, not of the cluster");
        }
        let claims = calls(Mode::AgentSandbox);
        assert!(!claims.contains(&call("", "pods", "create")), "pods of a pool are the controller's");
    }

    #[test]
    fn the_guide_has_the_roles_of_the_code_and_a_template_that_confines() {
        let guide =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/kubernetes.md"));
        let guide = guide.unwrap();
        for (mode, account) in [(Mode::Pods, "dormouse"), (Mode::AgentSandbox, "dormouse-agent-sandbox")] {
            let role = role(mode, "boxes", account);
            assert!(
                guide.contains(&role),
                "the guide has another role for {} than this one:\n{role}",
                mode.as_str()
            );
        }
        let begin = "```json file=template.json\n";
        let template = guide.split(begin).nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let list: Json = serde_json::from_str(template).unwrap();
        assert!(crate::vet::look("python", &list["items"][0], None, None).is_ok());
    }

    #[test]
    fn every_kind_that_is_used_is_in_the_list() {
        let all: Vec<(&str, &str)> = [Mode::Pods, Mode::AgentSandbox]
            .into_iter()
            .flat_map(calls)
            .map(|one| (one.group, one.resource))
            .collect();
        for kind in
            [Kind::Pod, Kind::Policy, Kind::Volume, Kind::Sandbox, Kind::Claim, Kind::Pool, Kind::Template]
        {
            let (group, _, _, plural) = kind.names();
            assert!(all.contains(&(group, plural)), "{kind:?}");
        }
    }
}
