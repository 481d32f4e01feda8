//! Saving a container that works on, one with folders of the host, and one that is full.

use dormouse_core::sandbox::{Include, SandboxSpec, Snapshot, SpecMount};
use dormouse_core::{Access, Provider as _};
use dormouse_files::Files;

use crate::list::{path, said, spec};
use crate::support::Bench;

fn tree(state: &dyn Snapshot) -> Files {
    Files::new(state.files().unwrap().clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn con_32_what_works_on_after_its_call_is_seen_and_saved() {
    let Some(bench) = Bench::new("works").await else { return };
    let mut machine = bench.machine().await;
    said(&mut machine, "true").await;
    machine.snapshot(Include::Both).await.unwrap();
    assert!(!machine.works_on());
    said(&mut machine, "(i=0; while :; do i=$((i+1)); echo $i > a; echo $i > b; done) >/dev/null 2>&1 &")
        .await;
    for _ in 0..3 {
        let state = machine.snapshot(Include::Both).await.unwrap();
        assert!(machine.works_on());
        let files = tree(state.as_ref());
        let number = |name: &str| -> u64 {
            let bytes = files.read(&path(&format!("/workspace/{name}")), 0, 99).unwrap_or_default();
            String::from_utf8(bytes).unwrap().trim().parse().unwrap_or_default()
        };
        // Of one moment: a file is being written, or the two are neighbours.
        let (a, b) = (number("a"), number("b"));
        assert!(a == 0 || b == 0 || a == b || a == b + 1, "{a} {b}");
    }
    // It goes on after the save.
    let look = "n() { x=; while [ -z \"$x\" ]; do x=$(cat a); done; echo $x; }; n; sleep 1; n";
    let numbers = said(&mut machine, look).await.1;
    let numbers: Vec<&str> = numbers.lines().collect();
    assert!(numbers.len() == 2 && numbers[0] != numbers[1], "{numbers:?}");
    drop(machine);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn con_35_what_is_mounted_below_the_workspace_does_not_break_the_wake() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().canonicalize().unwrap();
    std::fs::write(source.join("SKILL.md"), "skill").unwrap();
    let roots = vec![source.clone()];
    let Some(bench) = Bench::with("skills", |settings| settings.roots = roots).await else { return };
    let mount = SpecMount { source, target: path("/workspace/skills/pdf"), access: Access::ReadOnly };
    let spec = SandboxSpec { mounts: vec![mount], ..spec() };
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    said(&mut machine, "echo 1 > f; ln -s /workspace/f /tmp/l").await;
    for _ in 0..2 {
        let state = machine.snapshot(Include::Both).await.unwrap();
        assert!(tree(state.as_ref()).stat(&path("/workspace/skills/pdf/SKILL.md")).is_err());
        machine = bench.provider.machine(&spec, Some(state)).await.unwrap();
        assert_eq!(said(&mut machine, "cat skills/pdf/SKILL.md f /tmp/l").await.1, "skill1\n1\n");
    }
    drop(machine);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn con_36_as_many_files_as_a_container_takes_are_saved() {
    let Some(bench) = Bench::new("many").await else { return };
    let spec = SandboxSpec { files: 31_000, memory: 512 << 20, disk: 256 << 20, ..spec() };
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    let make = "mkdir n; cd n; i=0; while [ $i -lt 300 ]; do mkdir $i; j=0; while [ $j -lt 100 ]; do echo $j > $i/$j; \
                j=$((j+1)); done; i=$((i+1)); done; cd ..; j=0; while : > x$j; do j=$((j+1)); done 2>/dev/null; ls | wc -l";
    said(&mut machine, make).await;
    let state = machine.snapshot(Include::Both).await.unwrap();
    let names = tree(state.as_ref()).usage().files;
    assert!(names > 31_000, "{names}");
    let mut other = bench.provider.machine(&spec, Some(state)).await.unwrap();
    assert_eq!(said(&mut other, "cat n/299/99; find . | wc -l").await.1.lines().next(), Some("99"));
    drop((machine, other));
    bench.end().await;
}
