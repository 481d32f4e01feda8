//! A sandbox as a pod: lines, values, files, and its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Include, Machine, SandboxSpec, SpecMount, WarmPool};
use dormouse_core::testing::{wait_for_async, wait_until_async};
use dormouse_core::{
    Access, ErrorCode, EvalRequest, GuestPath, Language, LineRequest, Outcome, Provider as _, Recovery,
    Status,
};
use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};

use crate::list::FULL;
use crate::list::limits::fill_the_limit_of_processes;
use crate::pools;
use crate::support::{self, Bench, PATIENCE, line, said, spec, within};

async fn eval(machine: &mut dyn Machine, language: &Language, code: &str) -> Outcome {
    let mut request = EvalRequest::new(language.clone(), code);
    request.context.limits.wall = Duration::from_secs(30);
    machine.eval(request).await.unwrap()
}

fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_runs_lines_and_snippets_and_keeps_files() {
    for (mode, old) in [(Mode::Pods, false), (Mode::Pods, true), (Mode::AgentSandbox, false)] {
        let Some(bench) = Bench::containers("life", mode).await else { return };
        bench.server.node.old.store(old, Ordering::Release);
        if mode == Mode::AgentSandbox {
            bench.fill(1);
        }
        let mut machine = bench.machine().await;
        lines(machine.as_mut()).await;
        values(machine.as_mut()).await;
        files(machine.as_mut()).await;
        // What is saved goes on in another pod.
        let state = machine.snapshot(Include::Both).await.unwrap();
        drop(machine);
        let mut machine = bench.provider.machine(&spec(), Some(state)).await.unwrap();
        assert_eq!(
            said(machine.as_mut(), "cat kept/a; readlink kept/l; stat -c %a kept/a").await,
            "content\na\n640\n"
        );
        let python = eval(machine.as_mut(), &Language::python(), "1").await;
        assert_eq!(python.recovery, Some(Recovery::Fresh));
        drop(machine);
        bench.end().await;
    }
}

async fn lines(machine: &mut dyn Machine) {
    assert_eq!(
        said(machine, "id -u; pwd; touch /etc/x 2>/dev/null || echo no").await,
        "65534\n/workspace\nno\n"
    );
    said(machine, "mkdir -p 'a b'; cd 'a b'; export X='1 \"2\" $3'").await;
    assert_eq!(said(machine, "pwd; echo \"$X\"").await, "/workspace/a b\n1 \"2\" $3\n");
    said(machine, "cd /workspace").await;
    let ended = line(machine, "echo out; echo err >&2; exit 7").await.outcome;
    assert_eq!(
        (ended.exit_code(), ended.stdout.text.as_str(), ended.stderr.text.as_str()),
        (7, "out\n", "err\n")
    );
    let mut request = LineRequest::new("cat; echo end");
    request.context.grants.stdin = b"from outside\n".repeat(10_000);
    request.context.limits.output = 1 << 20;
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap().outcome;
    assert_eq!(ended.stdout.text.len(), 130_004);
    let long = format!("echo {}", "x".repeat(100_000));
    assert_eq!(said(machine, &long).await.len(), 100_001);
}

async fn values(machine: &mut dyn Machine) {
    let python = Language::python();
    eval(machine, &python, "x = {'a': [1, 2.5, None]}").await;
    let outcome = eval(machine, &python, "print('said'); len(x['a'])").await;
    assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(3));
    assert_eq!((outcome.stdout.text.as_str(), outcome.provider), ("said\n", "kubernetes"));
    let outcome = eval(machine, &Language::javascript(), "6 * 7").await;
    assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(42));
    assert!(matches!(eval(machine, &python, "1 / 0").await.status, Status::Raised(_)));
}

async fn files(machine: &mut dyn Machine) {
    said(machine, "mkdir kept; ln -s a kept/l").await;
    let files = machine.files();
    files.write(&path("/workspace/kept/a"), b"content\n").await.unwrap();
    assert_eq!(files.read(&path("/workspace/kept/a"), 3, 4).await.unwrap().bytes, b"tent");
    assert_eq!(files.append(&path("/workspace/log"), b"more").await.unwrap(), 4);
    let (entries, total) = files.list(&path("/workspace"), true, 100).await.unwrap();
    assert!(total >= 5 && entries.iter().any(|entry| entry.path == "kept/l"), "{entries:?}");
    let missing = files.read(&path("/workspace/none"), 0, 1).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound);
    assert_eq!(files.remove(&path("/etc/passwd"), false).await.unwrap_err().code(), ErrorCode::PathDenied);
    said(machine, "chmod 640 kept/a").await;
}

/// An image that holds one static program, which is no shell.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_a_shell_has_that_of_the_helper_image() {
    let Some(bench) = Bench::containers_with("helper", Mode::Pods, |settings| {
        settings.images = vec!["dormouse-test/noshell:1".into()];
    })
    .await
    else {
        return;
    };
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert!(
        error.code() == ErrorCode::CapabilityUnavailable
            && error.hint().is_some_and(|hint| hint.contains("helper_image")),
        "{error:?}"
    );
    bench.end().await;
    let bench = Bench::containers_with("helper", Mode::Pods, |settings| {
        settings.images = vec!["dormouse-test/noshell:1".into(), FULL.into()];
        settings.helper_image = Some("dormouse-test/busybox:1".into());
    });
    let bench = bench.await.unwrap();
    for old in [false, true] {
        bench.server.node.old.store(old, Ordering::Release);
        let mut machine = bench.machine().await;
        assert_eq!(
            said(machine.as_mut(), "id -u; pwd; readlink /opt/dormouse/sed").await,
            "65534\n/workspace\nbusybox\n"
        );
        assert_eq!(
            said(machine.as_mut(), "mkdir b; touch /opt/dormouse/x 2>/dev/null || echo no").await,
            "no\n"
        );
        files(machine.as_mut()).await;
        let state = machine.snapshot(Include::Files).await.unwrap();
        drop(machine);
        let mut machine = bench.provider.machine(&spec(), Some(state)).await.unwrap();
        assert_eq!(said(machine.as_mut(), "cat kept/a; stat -c %a kept/a").await, "content\n640\n");
        drop(machine);
    }
    // An image with programs of its own keeps them.
    let full = SandboxSpec { image: Some(FULL.into()), ..spec() };
    let mut machine = bench.provider.machine(&full, None).await.unwrap();
    let python = eval(machine.as_mut(), &Language::python(), "6 * 7").await;
    assert_eq!(python.value().and_then(|value| value.as_i64()), Some(42));
    assert_eq!(said(machine.as_mut(), "command -v sed; echo $BASH").await, "/usr/bin/sed\n/usr/bin/bash\n");
    drop(machine);
    bench.end().await;
}

/// The lines that `doctor` prints are those that a template lacks.
#[tokio::test(flavor = "multi_thread")]
async fn a_template_with_the_lines_that_doctor_prints_serves_an_image_without_a_shell() {
    let change = |settings: &mut Settings| settings.helper_image = Some("dormouse-test/busybox:1".into());
    let Some(bench) = Bench::containers_with("helped", Mode::AgentSandbox, change).await else { return };
    bench.fill(0);
    let mut template = pools::template("full", "dormouse-test/noshell:1");
    bench.server.put("sandboxtemplates", template.clone());
    let steps = bench.provider.look().await;
    let pool = steps.iter().find(|step| step.name == "kubernetes pool full").unwrap();
    let (_, lines) = pool.hint.as_ref().unwrap().split_once("`podTemplate.spec`: ").unwrap();
    let (pod, container) = lines.split_once("; and to the sandbox's container: ").unwrap();
    let add = |to: &mut serde_json::Value, lines: &str| {
        let lines: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&format!("{{{lines}}}")).unwrap();
        for (field, value) in lines {
            match (to.get_mut(&field).and_then(|own| own.as_array_mut()), value.as_array()) {
                (Some(own), Some(more)) if field != "command" => own.extend(more.clone()),
                _ => to[&field] = value,
            }
        }
    };
    let spec = &mut template["spec"]["podTemplate"]["spec"];
    add(spec, pod);
    add(&mut spec["containers"][0], container);
    bench.server.put("sandboxtemplates", template);
    // What was found is remembered for a while.
    let again = KubernetesProvider::new(bench.settings.clone()).unwrap();
    assert!(again.look().await.iter().all(|step| step.good));
    let mut machine = again.machine(&support::spec(), None).await.unwrap();
    assert_eq!(
        said(machine.as_mut(), "mkdir b; id -u; readlink /opt/dormouse/tar").await,
        "65534\nbusybox\n"
    );
    files(machine.as_mut()).await;
    drop(machine);
    again.close().await;
    bench.end().await;
}

/// How many programs called `sleep` run.
const SLEEPERS: &str = "for f in /proc/[0-9]*/comm; do read n < $f && [ $n = sleep ] && echo; done | wc -l";

/// KUB-04: what goes on after a time limit.
#[tokio::test(flavor = "multi_thread")]
async fn kub_04_a_time_limit_ends_all_that_a_line_started_and_nothing_else() {
    for old in [false, true] {
        let Some(bench) = Bench::containers("kub_04", Mode::Pods).await else { return };
        bench.server.node.old.store(old, Ordering::Release);
        ended_with_its_line(bench).await;
    }
}

async fn ended_with_its_line(bench: Bench) {
    let mut machine = bench.machine().await;
    let python = Language::python();
    eval(machine.as_mut(), &python, "kept = 5").await;
    let hidden = "python3 -c '\nimport os, time\nif os.fork() == 0:\n  os.setsid()\n  while True: open(\"/tmp/new\", \"w\").write(str(time.time_ns()) + chr(10)); os.replace(\"/tmp/new\", \"/tmp/beat\")\n' \
        ; (trap '' TERM INT HUP; sleep 1000 &); sleep 1000";
    let ended = within(machine.as_mut(), hidden, Duration::from_secs(3)).await.outcome;
    assert!(
        matches!(&ended.status, Status::Stopped(error) if error.code() == ErrorCode::LimitTime),
        "{ended:?}"
    );
    let beat = said(machine.as_mut(), "cat /tmp/beat; sleep 1; cat /tmp/beat").await;
    let beats: Vec<&str> = beat.lines().collect();
    assert!(beats.len() == 2 && beats[0] == beats[1], "{beats:?}");
    assert_eq!(said(machine.as_mut(), SLEEPERS).await.trim(), "1", "the pod's own");
    let value = eval(machine.as_mut(), &python, "kept").await;
    assert_eq!(value.value().and_then(|value| value.as_i64()), Some(5), "the interpreter goes on");
    drop(machine);
    bench.end().await;
}

/// KUB-05: a program that writes without end.
#[tokio::test(flavor = "multi_thread")]
async fn kub_05_a_stream_that_floods_is_cut_and_costs_no_memory() {
    let Some(bench) = Bench::containers("kub_05", Mode::Pods).await else { return };
    let mut machine = bench.machine().await;
    let mut request = LineRequest::new("yes | head -c 100000000; yes >&2");
    request.context.limits.wall = Duration::from_secs(8);
    request.context.limits.output = 1 << 16;
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap().outcome;
    assert!(
        matches!(&ended.status, Status::Stopped(error) if error.code() == ErrorCode::LimitTime),
        "{ended:?}"
    );
    assert_eq!(ended.stdout.text.len(), 1 << 16);
    assert!(ended.stdout.total_bytes > 1 << 20 && ended.stdout.dropped_bytes > 0);
    assert_eq!(said(machine.as_mut(), "echo still").await, "still\n");
    drop(machine);
    bench.end().await;
}

/// KUB-06: the API server goes away in the middle of a command, and the pod with it.
#[tokio::test(flavor = "multi_thread")]
async fn kub_06_a_stream_that_breaks_off_is_told_and_never_an_exit_status() {
    let Some(bench) = Bench::containers("kub_06", Mode::Pods).await else { return };
    let mut machine = bench.machine().await;
    let server = bench.server.clone();
    let breaking = tokio::spawn(async move {
        wait_until_async("the command runs", PATIENCE, || {
            server.count("create", "pods/exec") + server.count("get", "pods/exec") >= 2
        })
        .await;
        // The command is under way.
        tokio::time::sleep(Duration::from_millis(700)).await;
        server.node.break_off();
    });
    let ended = line(machine.as_mut(), "sleep 20").await.outcome;
    breaking.await.unwrap();
    let Status::Stopped(error) = &ended.status else { panic!("{ended:?}") };
    assert_eq!((error.code(), ended.recovery), (ErrorCode::ProviderUnavailable, Some(Recovery::Earlier)));
    // A pod that somebody removes is told as that.
    let pod = bench.server.names("pods").remove(0);
    bench.server.remove("pods", &pod);
    let gone = async || if machine.is_gone() { Ok(()) } else { Err("it is there") };
    wait_for_async("the pod is gone", PATIENCE, gone).await;
    let error = machine.exec(LineRequest::new("true"), Arc::new(NoPrograms)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    drop(machine);
    bench.end().await;
}

/// KUB-38: a pod that has ended, which its cluster does not know yet: neither a status nor an empty folder.
#[tokio::test(flavor = "multi_thread")]
async fn kub_38_an_ended_pod_is_never_saved_as_an_empty_one() {
    for (old, ends) in [(false, "kill 1; sleep 5"), (true, "kill 1; sleep 5")] {
        let Some(bench) = Bench::containers("kub_38", Mode::Pods).await else { return };
        bench.server.node.old.store(old, Ordering::Release);
        let mut machine = bench.machine().await;
        said(machine.as_mut(), "echo kept > file").await;
        let ended = line(machine.as_mut(), ends).await.outcome;
        let Status::Stopped(error) = &ended.status else { panic!("{ended:?}") };
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{error}");
        let error = machine.snapshot(Include::Both).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{error}");
        assert!(machine.is_gone());
        drop(machine);
        bench.end().await;
    }
}

/// KUB-37: processes that fill the limit of a pod, which nobody can raise for the moment.
#[tokio::test(flavor = "multi_thread")]
async fn kub_37_a_pod_that_takes_no_program_any_more_is_left_for_another_one() {
    let Some(bench) = Bench::containers("kub_37", Mode::Pods).await else { return };
    let mut machine = bench.machine().await;
    said(machine.as_mut(), "echo kept > file").await;
    let (state, ..) = support::save(machine.as_mut()).await;
    fill_the_limit_of_processes(&mut machine).await;
    // Where what ends them comes to be started among them, all is well.
    if let Err(error) = machine.exec(LineRequest::new("true"), Arc::new(NoPrograms)).await {
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        assert!(error.message().contains("cannot be ended"), "{error}");
        assert!(machine.is_gone(), "or it would be asked for ever");
        machine.restore(state.as_ref()).await.unwrap();
    }
    assert_eq!(said(machine.as_mut(), "cat file").await, "kept\n");
    assert!(!machine.is_gone());
    drop(machine);
    bench.end().await;
}

#[tokio::test]
async fn pods_have_no_pool_no_folders_of_the_host_and_only_images_that_are_allowed() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    assert!(!bench.provider.abilities().warm_pool);
    let require = SandboxSpec { warm_pool: WarmPool::Require, ..spec() };
    assert_eq!(bench.provider.check(&require).unwrap_err().code(), ErrorCode::ArgsInvalid);
    let mount = SpecMount { source: "/etc".into(), target: path("/data"), access: Access::ReadOnly };
    let folders = SandboxSpec { mounts: vec![mount], ..spec() };
    assert_eq!(bench.provider.check(&folders).unwrap_err().code(), ErrorCode::PathDenied);
    let other = SandboxSpec { image: Some("other:1".into()), ..spec() };
    assert_eq!(bench.provider.check(&other).unwrap_err().code(), ErrorCode::CapabilityUnavailable);
    bench.end().await;
}
