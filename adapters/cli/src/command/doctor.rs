//! `dormouse doctor`: what works on this machine, and why not.

mod machine;
mod quotas;

use std::collections::BTreeMap;
use std::time::Instant;

use dormouse::sandboxes::Rules;
use dormouse::wasm::{Allocation, CONTRACT, WasmProvider};
use dormouse::{
    Abilities, Capacity, Dormouse, Error, GuestInfo, Outcome, Policy, Provider as _, Result, Status,
};
use dormouse_kubernetes::Mode;
use serde_json::json;

use super::{guests::needed, once};
use crate::args::{DockerArgs, PlaceArgs};
use crate::exit::Failure;
use crate::print::{self, Row};
use crate::settings;

/// Checks everything; 1 when a language does not work.
pub(crate) fn run(place: &PlaceArgs, as_json: bool, docker: &DockerArgs) -> Result<u8, Failure> {
    let mut provider_settings = settings::provider(place)?;
    let instances = pool(place);
    provider_settings.allocation = Allocation::Pooling { instances };
    let mut rows = machine::rows(&provider_settings.cache);
    let engine = WasmProvider::new(provider_settings.clone()).and_then(|pool| pool.check_engine());
    let pooled = engine.is_ok();
    rows.insert(0, machine::engine(engine, instances));
    let allocation = if pooled { provider_settings.allocation } else { Allocation::OnDemand };
    let dormouse = settings::builder(place)?.allocation(allocation).build()?;
    let provider = WasmProvider::new(provider_settings)?;
    let mut works = true;
    for guest in dormouse.runtime().capabilities().guests {
        let row = language(&guest, &provider, &dormouse);
        works &= row.good == Some(true);
        rows.push(row);
    }
    rows.push(quotas::row());
    rows.push(containers(docker)?);
    rows.extend(cluster(docker)?);
    let able = able(docker);
    rows.extend(able.iter().map(|(name, abilities)| can(name, abilities)));
    rows.push(absent("network", "none, unless a command or a server has --allow-net HOST or --network FILE"));
    if as_json {
        print::out(&format!("{}\n", report(&rows, &able, works)))?;
    } else {
        print::out(&print::table(&rows))?;
    }
    Ok(u8::from(!works))
}

/// Instances in the pool of a server that was told nothing else and keeps sandboxes: the sum of docs/capacity.md.
fn pool(place: &PlaceArgs) -> u32 {
    let capacity = Capacity::of(&Policy::default(), Some(&Rules::default()), place.manifests.len(), 0);
    u32::try_from(capacity.instances()).unwrap_or(u32::MAX)
}

/// What each provider can do, where it can be had.
fn able(arguments: &DockerArgs) -> [(&'static str, Abilities); 3] {
    let mode = match arguments.kubernetes.as_deref() {
        Some("agent-sandbox") => Mode::AgentSandbox,
        _ => Mode::Pods,
    };
    [
        ("wasm", dormouse::wasm::ABILITIES),
        ("docker", dormouse_docker::ABILITIES),
        ("kubernetes", dormouse_kubernetes::abilities(mode)),
    ]
}

/// What is there of a cluster, step by step.
fn cluster(arguments: &DockerArgs) -> Result<Vec<Row>> {
    let Some(provider) = settings::kubernetes::provider(arguments)? else {
        return Ok(vec![absent("kubernetes", "off: no cluster is named (--kubernetes)")]);
    };
    let steps = once::wait(async { Ok(provider.look().await) })?;
    Ok(steps
        .into_iter()
        .map(|step| Row { good: Some(step.good), name: step.name, found: step.found, hint: step.hint })
        .collect())
}

/// Does the engine answer, and does it have the images?
fn containers(arguments: &DockerArgs) -> Result<Row> {
    let Some(provider) = settings::docker::engine(arguments)? else {
        return Ok(absent("docker", "off: no image is allowed (--docker-image)"));
    };
    let looked = once::wait(async {
        provider.ready().await?;
        let mut missing = Vec::new();
        for image in provider.images() {
            if !provider.has_image(&image).await? {
                missing.push(image);
            }
        }
        Ok(missing)
    });
    let row = |good, found, hint| Row { good: Some(good), name: "docker".into(), found, hint };
    Ok(match looked {
        Ok(missing) if missing.is_empty() => row(true, "the engine answers and has the images".into(), None),
        Ok(missing) => row(
            false,
            format!("the engine does not have {}", missing.join(", ")),
            Some("load or build them, or allow --docker-pull".into()),
        ),
        Err(error) => row(false, error.message().into(), error.hint().map(Into::into)),
    })
}

fn report(rows: &[Row], able: &[(&str, Abilities)], works: bool) -> serde_json::Value {
    let check = |row: &Row| json!({"name": row.name, "ok": row.good, "found": row.found, "hint": row.hint});
    let checks: Vec<_> = rows.iter().map(check).collect();
    let abilities: BTreeMap<&str, &Abilities> = able.iter().map(|(name, able)| (*name, able)).collect();
    json!({"ok": works, "contract": CONTRACT, "checks": checks, "abilities": abilities})
}

/// What a provider can do, where it can be had.
fn can(name: &str, able: &Abilities) -> Row {
    let yes = [
        (able.snippets, "snippets without a sandbox"),
        (able.wasi_programs, "WASI programs"),
        (able.system_programs, "programs of a system"),
        (able.warm_pool, "sandboxes that wait"),
    ];
    let yes: Vec<&str> = yes.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    let found = format!(
        "{} of the {}; variables {}; memory of the {}; network {}; {}",
        able.languages.join(", "),
        able.interpreters,
        able.variables,
        able.memory,
        able.network,
        yes.join(", ")
    );
    Row { good: None, name: format!("{name} can"), found, hint: None }
}

fn absent(name: &str, found: &str) -> Row {
    Row { good: None, name: name.into(), found: found.into(), hint: None }
}

/// Is it built, does it speak our contract, is it compiled, and does it know what 1 + 1 is?
fn language(guest: &GuestInfo, provider: &WasmProvider, dormouse: &Dormouse) -> Row {
    let name = guest.language.to_string();
    let failed = |error: &Error| Row {
        good: Some(false),
        name: name.clone(),
        found: error.message().into(),
        hint: error.hint().map(Into::into),
    };
    // What was installed as machine code needs no component.
    let compiled = |guest| match provider.is_compiled(guest) {
        Ok(true) => Ok(true),
        _ => provider.component(guest).map(|_| false),
    };
    let compiled = match needed(&(&guest.language).into()).iter().map(compiled).collect::<Result<Vec<_>, _>>()
    {
        Ok(compiled) => compiled.iter().all(|compiled| *compiled),
        Err(error) => return failed(&error),
    };
    // The first run maps the machine code, the second shows what a run costs.
    let evaluate = || once::wait(dormouse.snippet(guest.language.as_str(), "1 + 1").run());
    let outcome = evaluate().and_then(|_| {
        let begin = Instant::now();
        Ok((evaluate()?, begin.elapsed()))
    });
    match outcome {
        Err(error) => failed(&error),
        Ok((outcome, wall)) => match wrong(&outcome) {
            Some(found) => Row {
                good: Some(false),
                name,
                found,
                hint: Some(format!(
                    "build it again with `dormouse guests build {}` in a source checkout",
                    guest.language
                )),
            },
            None => {
                let ms = wall.as_secs_f64() * 1e3;
                let how = if compiled { "compiled before" } else { "compiled now" };
                let found = format!("{}: 1 + 1 = 2 in {ms:.2} ms ({how})", guest.interpreter);
                Row { good: Some(true), name, found, hint: None }
            }
        },
    }
}

/// What is wrong with an outcome that should be 2.
fn wrong(outcome: &Outcome) -> Option<String> {
    match &outcome.status {
        Status::Returned(value) if value.as_i64() == Some(2) => None,
        Status::Returned(value) => Some(format!("1 + 1 gave a value of type {}", value.type_name())),
        Status::Raised(exception) => Some(format!("1 + 1 raised {}: {}", exception.class, exception.message)),
        Status::Exited(status) => Some(format!("1 + 1 exited with {status}")),
        Status::Stopped(error) => Some(format!("1 + 1 was stopped: {}", error.message())),
    }
}
