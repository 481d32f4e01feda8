//! What is needed of a cluster, looked at step by step. Makes nothing.

use dormouse_core::Error;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::access::{Call, calls};
use crate::fault::{is_missing, status, wrong};
use crate::kinds::{AGENTS, EXTENSIONS, VERSION};
use crate::settings::Mode;
use crate::shared::Shared;
use crate::{helper, manifest, vet};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is looked at.
    pub name: String,
    /// Whether it is as it has to be.
    pub good: bool,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Step {
    fn good(name: &str, found: impl Into<String>) -> Self {
        Self { name: name.into(), good: true, found: found.into(), hint: None }
    }

    fn bad(name: &str, error: &Error) -> Self {
        Self {
            name: name.into(),
            good: false,
            found: error.message().into(),
            hint: error.hint().map(Into::into),
        }
    }
}

/// All steps; those that need one that failed are left out.
pub(crate) async fn steps(shared: &Shared) -> Vec<Step> {
    let cluster = &shared.cluster;
    let mut steps = Vec::new();
    match cluster.client().await {
        Ok((_, namespace)) => {
            let what = format!("a way to a cluster, and the namespace `{namespace}`");
            steps.push(Step::good("kubernetes", what));
        }
        Err(error) => return vec![Step::bad("kubernetes", &error)],
    }
    match cluster.version().await {
        Ok(version) => steps.push(Step::good("kubernetes API", format!("it answers, version {version}"))),
        Err(error) => {
            steps.push(Step::bad("kubernetes API", &error));
            return steps;
        }
    }
    steps.push(rights(shared).await);
    if let Some(network) = &shared.settings.network {
        let found = format!("{} reach {}", network.of.join(", "), network.to.join(", "));
        steps.push(Step::good("kubernetes network", found));
    }
    match shared.settings.mode {
        Mode::Pods => {
            if let Some(class) = &shared.settings.storage_class {
                steps.push(storage(shared, class).await);
            }
            let images = shared.settings.images.join(", ");
            steps.push(match images.is_empty() {
                true => Step {
                    name: "kubernetes images".into(),
                    good: false,
                    found: "no image is allowed".into(),
                    hint: Some("name them in `images`".into()),
                },
                false => Step::good("kubernetes images", format!("allowed: {images}")),
            });
        }
        Mode::AgentSandbox => {
            for group in [AGENTS, EXTENSIONS] {
                steps.push(served(shared, group).await);
            }
            for pool in &shared.settings.pools {
                let name = format!("kubernetes pool {pool}");
                steps.push(match vet::pool(shared, pool).await {
                    Err(error) => Step::bad(&name, &error),
                    Ok(vetted) if !vetted.helped && shared.settings.helper_image.is_some() => {
                        unhelped(shared, name)
                    }
                    Ok(vetted) => match vet::waiting(shared, pool).await {
                        Ok(waiting) => {
                            let kept = if vetted.keeps { "; its volumes are kept over a stop" } else { "" };
                            let ruled = if vetted.has_gate { "; it can have a network by rules" } else { "" };
                            Step::good(&name, format!("its template confines; {waiting} wait{kept}{ruled}"))
                        }
                        Err(error) => Step::bad(&name, &error),
                    },
                });
            }
        }
    }
    steps
}

/// A pool whose template does not have the helper that the settings name, with the lines that it lacks.
fn unhelped(shared: &Shared, name: String) -> Step {
    let image = shared.settings.helper_image.as_deref().unwrap_or_default();
    Step {
        name,
        good: false,
        found: format!("its template mounts no helper at `{}`, which must not be writable", helper::PLACE),
        hint: Some(helper::lines(image, manifest::KEEP)),
    }
}

/// Whether the account may make each call.
async fn rights(shared: &Shared) -> Step {
    let name = "kubernetes rights";
    let mut missing = Vec::new();
    let all = calls(shared.settings.mode);
    for call in &all {
        match may(shared, call).await {
            Ok(true) => {}
            Ok(false) => missing.push(format!("{} {}", call.verb, call.resource)),
            Err(error) => return Step::bad(name, &error),
        }
    }
    if missing.is_empty() {
        return Step::good(name, format!("the account may do all {} things that are needed", all.len()));
    }
    Step {
        name: name.into(),
        good: false,
        found: format!("the account may not {}", missing.join(", ")),
        hint: Some("the guide for Kubernetes has a role with these rights and no others".into()),
    }
}

async fn may(shared: &Shared, call: &Call) -> dormouse_core::Result<bool> {
    let (client, namespace) = shared.cluster.client().await?;
    let (resource, part) = call.resource.split_once('/').unwrap_or((call.resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": namespace, "group": call.group, "resource": resource, "subresource": part, "verb": call.verb,
        }},
    });
    let review: SelfSubjectAccessReview = serde_json::from_value(review)
        .map_err(|error| Error::internal("a question about rights cannot be written", error))?;
    let api: Api<SelfSubjectAccessReview> = Api::all(client);
    let options = PostParams::default();
    let answer = shared.cluster.ask("ask what the account may do", api.create(&options, &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

async fn storage(shared: &Shared, class: &str) -> Step {
    let name = "kubernetes storage";
    let asked = async {
        let (client, _) = shared.cluster.client().await?;
        let api: Api<StorageClass> = Api::all(client);
        shared.cluster.asked("look at a storage class", api.get(class)).await
    };
    match asked.await {
        Ok(Ok(found)) => Step::good(name, format!("the class `{class}` of {}", found.provisioner)),
        Ok(Err(fault)) if is_missing(&fault) => Step {
            name: name.into(),
            good: false,
            found: format!("there is no storage class `{class}`"),
            hint: Some("`kubectl get storageclasses` lists them".into()),
        },
        // It is the cluster's own, and the account needs no right to see it.
        Ok(Err(fault)) if status(&fault) == Some(403) => {
            Step::good(name, format!("the class `{class}`, which the account may not look at and need not"))
        }
        Ok(Err(fault)) => Step::bad(name, &wrong("look at a storage class", fault)),
        Err(error) => Step::bad(name, &error),
    }
}

/// Whether a group of agent-sandbox is served, in the version that is spoken.
async fn served(shared: &Shared, group: &str) -> Step {
    let name = format!("kubernetes {group}");
    let client = match shared.cluster.client().await {
        Ok((client, _)) => client,
        Err(error) => return Step::bad(&name, &error),
    };
    let version = format!("{group}/{VERSION}");
    let asked = client.list_api_group_resources(&version);
    match shared.cluster.asked("ask which kinds the cluster has", asked).await {
        Ok(Ok(_)) => Step::good(&name, format!("{VERSION} is served")),
        Ok(Err(fault)) if is_missing(&fault) => {
            let groups = client.list_api_groups();
            let groups = shared.cluster.ask("ask which groups the cluster has", groups).await;
            let others =
                groups.ok().and_then(|groups| groups.groups.into_iter().find(|one| one.name == group));
            let found = match others {
                Some(one) => {
                    let versions: Vec<String> =
                        one.versions.into_iter().map(|version| version.version).collect();
                    format!("{} is served, not {VERSION}", versions.join(", "))
                }
                None => "agent-sandbox is not installed".into(),
            };
            Step {
                name,
                good: false,
                found,
                hint: Some("install agent-sandbox 0.5 or later with its extensions".into()),
            }
        }
        Ok(Err(fault)) => Step::bad(&name, &wrong("ask which kinds the cluster has", fault)),
        Err(error) => Step::bad(&name, &error),
    }
}
