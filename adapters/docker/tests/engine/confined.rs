//! What confines a container, seen from inside and from the engine.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{SandboxSpec, SpecMount, WarmPool};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{Access, ErrorCode, Provider as _};
use dormouse_docker::DockerProvider;

use crate::list::{PATIENCE, line, path, said, spec};
use crate::support::{Bench, running, settings, wait_for_process};

/// CON-02: capabilities, privileges, seccomp, the read-only root, devices, the engine's socket.
#[tokio::test(flavor = "multi_thread")]
async fn con_02_nothing_of_the_host_can_be_touched() {
    let Some(bench) = Bench::new("con_02").await else { return };
    let mut machine = bench.machine().await;
    let (_, status, _) =
        said(&mut machine, "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status").await;
    let words: Vec<&str> = status.split_whitespace().collect();
    let none = "0000000000000000";
    assert_eq!(words, ["CapEff:", none, "CapBnd:", none, "NoNewPrivs:", "1", "Seccomp:", "2"]);
    for refused in [
        "touch /x",
        "touch /etc/x",
        "mount -t tmpfs x /tmp",
        "mknod /tmp/n b 8 0",
        "unshare -m true",
        "unshare -U true",
        "echo 1 > /proc/sys/kernel/hostname",
        "echo b > /proc/sysrq-trigger",
        "mkdir /sys/fs/cgroup/x",
        "dmesg",
        "ping -c 1 127.0.0.1",
        "chroot / true",
        "chown 0 /workspace",
        "su -c true",
        "kill -9 1",
        "cat /var/run/docker.sock",
        "cat /proc/kcore",
    ] {
        let (code, _, _) = said(&mut machine, &format!("{refused} > /dev/null 2>&1")).await;
        assert_ne!(code, 0, "{refused}");
    }
    // A link that a sandbox made leads to what it can reach itself: its main process is somebody else's.
    said(&mut machine, "ln -s /proc/1/environ env").await;
    assert!(machine.files().read(&path("/workspace/env"), 0, 9).await.is_err());
    drop(machine);
    bench.end().await;
}

/// CON-07: no network but the loopback; no metadata service, no gateway.
#[tokio::test(flavor = "multi_thread")]
async fn con_07_there_is_no_network() {
    let Some(bench) = Bench::new("con_07").await else { return };
    let mut machine = bench.machine().await;
    assert_eq!(said(&mut machine, "ls /sys/class/net; wc -l < /proc/net/route").await.1, "lo\n1\n");
    for address in ["169.254.169.254", "172.17.0.1", "1.1.1.1"] {
        let text = format!("wget -T 2 -q -O - http://{address}/ 2>&1");
        let (code, _, _) = said(&mut machine, &text).await;
        assert_ne!(code, 0, "{address}");
    }
    drop(machine);
    bench.end().await;
}

/// CON-01: a disk filler in both folders, in bytes and in names.
#[tokio::test(flavor = "multi_thread")]
async fn con_01_the_disk_is_bounded_in_bytes_and_in_names() {
    let Some(bench) = Bench::new("con_01_disk").await else { return };
    let mut machine = bench.machine().await;
    let (code, _, errors) = said(&mut machine, "dd if=/dev/zero of=big bs=1M count=17").await;
    assert!(code != 0 && errors.contains("No space left"), "{errors}");
    assert_eq!(said(&mut machine, "stat -c %s big").await.1, format!("{}\n", 16 << 20));
    let refused = machine.files().write(&path("/workspace/more"), &[1; 5000]).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::LimitDisk);
    said(&mut machine, "rm big").await;
    let (code, _, _) =
        said(&mut machine, "i=0; while [ $i -lt 1100 ]; do : > f$i || exit 9; i=$((i+1)); done").await;
    assert_ne!(code, 0);
    let (code, _, _) = said(&mut machine, "dd if=/dev/zero of=/dev/shm/x bs=1M count=17 2>/dev/null").await;
    assert_ne!(code, 0);
    drop(machine);
    bench.end().await;
}

/// CON-03: VOLUME, HEALTHCHECK, an ENTRYPOINT that never ends; an image without a shell; one that is not there.
#[tokio::test(flavor = "multi_thread")]
async fn con_03_what_an_image_declares_is_neutralised_or_refused() {
    let Some(bench) =
        Bench::with("con_03", |settings| settings.images.push("dormouse-test/nowhere:9".into())).await
    else {
        return;
    };
    let surprise = "dormouse-test/surprise:1";
    if bench.has("con_03", surprise).await {
        let spec = SandboxSpec { image: Some(surprise.into()), ..spec() };
        let mut machine = bench.provider.machine(&spec, None).await.unwrap();
        assert_eq!(said(&mut machine, "id -u; echo here").await.1, "65534\nhere\n");
        let (_, mounts, _) = said(&mut machine, "mount").await;
        let writable = mounts.lines().filter(|mount| mount.starts_with("/dev/") && mount.contains("(rw"));
        let own = ["/etc/resolv.conf", "/etc/hostname", "/etc/hosts"];
        let left: Vec<&str> = writable.filter(|mount| !own.iter().any(|own| mount.contains(own))).collect();
        assert!(left.is_empty(), "volumes on the engine's disk: {left:?}");
    }
    let noshell = "dormouse-test/noshell:1";
    if bench.has("con_03", noshell).await {
        let spec = SandboxSpec { image: Some(noshell.into()), ..spec() };
        let error = bench.provider.machine(&spec, None).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable, "{error}");
        assert!(error.message().contains("shell"), "{error}");
    }
    let spec = SandboxSpec { image: Some("dormouse-test/nowhere:9".into()), ..spec() };
    let error = bench.provider.machine(&spec, None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::CapabilityUnavailable, "{error}");
    assert!(error.hint().unwrap().contains("pull"));
    bench.end().await;
}

/// CON-05: a mount is what it is after links are resolved, and read-only unless it is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn con_05_mounts_lie_below_the_operators_roots() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "from the host").unwrap();
    std::os::unix::fs::symlink("/etc", root.path().join("link")).unwrap();
    let Some(bench) = Bench::with("con_05", |settings| settings.roots = vec![root.path().to_owned()]).await
    else {
        return;
    };
    let mount = |source: &std::path::Path| SandboxSpec {
        mounts: vec![SpecMount { source: source.into(), target: path("/data"), access: Access::ReadOnly }],
        ..spec()
    };
    for refused in [root.path().join("link"), "/".into(), "/var/run/docker.sock".into(), "/proc".into()] {
        let error = bench.provider.check(&mount(&refused)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::PathDenied, "{refused:?}");
        assert!(bench.provider.machine(&mount(&refused), None).await.is_err());
    }
    let mut machine = bench.provider.machine(&mount(root.path()), None).await.unwrap();
    assert_eq!(
        said(&mut machine, "cat /data/a; touch /data/b 2>/dev/null || echo no").await.1,
        "from the hostno\n"
    );
    let read = machine.files().read(&path("/data/a"), 5, 100).await.unwrap();
    assert_eq!((&read.bytes[..], read.size), (&b"the host"[..], 13));
    drop(machine);
    bench.end().await;
}

/// CON-06: an engine that is not there, that never answers, or from which the container vanishes.
#[tokio::test(flavor = "multi_thread")]
async fn con_06_an_engine_that_fails_is_named_and_never_waited_for_without_end() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let state = tempfile::tempdir().unwrap();
    for address in ["unix:///nowhere.sock".to_owned(), format!("tcp://{}", silent.local_addr().unwrap())] {
        let mut settings = settings(state.path());
        (settings.address, settings.answer_within) = (Some(address), Duration::from_secs(1));
        let provider = DockerProvider::new(settings).unwrap();
        let error = provider.machine(&spec(), None).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        assert!(error.hint().is_some());
        provider.close().await;
    }
    let Some(bench) = Bench::new("con_06").await else { return };
    let mut machine = bench.machine().await;
    let id = running(&bench.docker, &bench.owner()).await.remove(0);
    let killer = async {
        wait_for_process(&bench.docker, &id, "sleep 20").await;
        bench.docker.kill_container(&id, None).await.unwrap();
    };
    let call = machine.exec(line("sleep 20"), Arc::new(NoPrograms));
    let (ended, ()) = tokio::join!(call, killer);
    match ended {
        Err(error) => assert_eq!(error.code(), ErrorCode::ProviderUnavailable),
        Ok(ended) => {
            let stopped = ended.outcome.stopped().map(dormouse_core::Error::code);
            assert_eq!(stopped, Some(ErrorCode::ProviderUnavailable));
        }
    }
    wait_until_async("the machine knows that its container has ended", PATIENCE, || machine.is_gone()).await;
    let error = machine.exec(line("true"), Arc::new(NoPrograms)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    drop(machine);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_outside_the_operators_ceilings_is_refused_before_anything_starts() {
    let Some(bench) = Bench::new("ceilings").await else { return };
    for bad in [
        SandboxSpec { cpu_millis: 5_000, ..spec() },
        SandboxSpec { processes: 5_000, ..spec() },
        SandboxSpec { processes: 1, ..spec() },
        SandboxSpec { image: Some("a; b".into()), ..spec() },
    ] {
        assert_eq!(bench.provider.check(&bad).unwrap_err().code(), ErrorCode::ArgsInvalid);
    }
    let required = SandboxSpec { warm_pool: WarmPool::Require, ..spec() };
    let error = bench.provider.machine(&required, None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Busy);
    bench.end().await;
}
