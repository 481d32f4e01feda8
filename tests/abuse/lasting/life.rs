//! What becomes of files with a sandbox: replaced, destroyed, put away and woken; and mounts, which are the host's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dormouse::wasm::{Settings, WasmProvider};
use dormouse_tests::levels::Levels;

use super::*;

#[test]
fn fs_10_who_reads_a_file_keeps_what_it_opened_when_another_replaces_it() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let kept = named(&dormouse, "box");
        sandbox::wait(kept.write("/workspace/f", vec![b'a'; 100_000])).unwrap();
        assert_eq!(shown(&kept, PYTHON, "f = open('f', 'rb', 0); len(f.read(50_000))"), 50_000);
        sandbox::wait(kept.write("/workspace/f", vec![b'b'; 100_000])).unwrap();
        let rest = "rest = f.read(); [len(rest), set(rest) == {97}, set(open('f', 'rb').read()) == {98}]";
        let seen: Vec<Json> =
            shown(&kept, PYTHON, rest).as_array().unwrap().iter().map(|one| one["value"].clone()).collect();
        assert_eq!(seen, [json!(50_000), json!(true), json!(true)]);
        // Destroyed while uploads come: each is done or refused, and nothing is left.
        let found = lasting::sandboxes(&dormouse).clone();
        let uploads: Vec<_> = (0..16u8)
            .map(|byte| {
                let found = found.clone();
                sandbox::spawn(async move {
                    let path = GuestPath::parse("/workspace/f").unwrap();
                    let files = vec![(path, vec![byte; 1 << 20])];
                    found.upload(&Owner::local(), &Handle::IdOrName("box"), Vec::new(), files).await
                })
            })
            .collect();
        sandbox::wait(kept.clone().destroy()).unwrap();
        for upload in uploads {
            if let Err(error) = sandbox::wait(upload).unwrap() {
                assert!(matches!(error.code(), ErrorCode::UnknownSandbox | ErrorCode::Cancelled), "{error}");
            }
        }
        assert_eq!(lasting::count(&dormouse), 0);
        lasting::sweep(&dormouse);
        assert_eq!(lasting::sweep(&dormouse), (0, 0));
        drop((kept, found));
        close(dormouse);
    });
}

#[test]
fn fs_11_a_new_sandbox_has_nothing_of_a_destroyed_one() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let secret = "secret-9b1f4e72-of-another-caller";
        for round in 0..3 {
            let kept = named(&dormouse, "box");
            let keep = format!(
                "s = ['{secret}' * 1000 + str(n) for n in range(200)]\nopen('/tmp/s', 'w').write(s[0]); open('/workspace/s', 'w').write(s[0]); 0"
            );
            assert!(run(&kept, PYTHON, &keep).is_ok());
            sandbox::wait(kept.destroy()).unwrap();
            let next = named(&dormouse, "box");
            let look = "import os, gc\n[os.listdir('/tmp'), os.listdir('/workspace'), 's' in globals()]";
            let seen = shown(&next, PYTHON, look).to_string();
            assert!(!seen.contains("secret") && seen.contains("false"), "{seen}");
            sandbox::wait(next.destroy()).unwrap();
            // All of a fresh interpreter's memory that is not the guest's own.
            let provider = Settings::new().and_then(WasmProvider::new).unwrap();
            let mut session = sandbox::wait(provider.session(&Language::python())).unwrap();
            let request =
                EvalRequest::new(Language::python(), "x = [bytearray(1 << 20) for _ in range(16)]; 0");
            sandbox::wait(provider.continue_session(&mut session, &request)).unwrap();
            let memory = sandbox::wait(provider.checkpoint(&mut session)).unwrap().to_bytes();
            let needle = secret.as_bytes();
            assert!(
                !memory.windows(needle.len()).any(|window| window == needle),
                "round {round}: it is still there"
            );
        }
        lasting::sweep(&dormouse);
        close(dormouse);
    });
}

#[test]
fn fs_12_a_mount_is_the_hosts_and_no_part_of_a_checkpoint() {
    case(&[PYTHON], || {
        let (folder, project) = (tempfile::tempdir().unwrap(), Project::new());
        let dormouse = open(folder.path());
        let kept = with(mounted(&project, Access::ReadWrite), &dormouse, "box");
        let read = "open('/mnt/x').read()";
        assert_eq!(shown(&kept, PYTHON, read), "original");
        let checkpoint = sandbox::wait(kept.checkpoint()).unwrap();
        fs::write(project.path().join("x"), "of the host").unwrap();
        assert_eq!(shown(&kept, PYTHON, read), "of the host");
        assert!(run(&kept, PYTHON, "open('/mnt/x', 'w').write('of the guest')").is_ok());
        sandbox::wait(kept.restore(&checkpoint)).unwrap();
        assert_eq!(shown(&kept, PYTHON, read), "of the guest", "a restore does not touch the host");
        assert!(!tree(&dormouse, "box").keys().any(|name| name.starts_with("mnt/")));
        // A folder that is gone is missing, and no more; when it is there again, the sandbox sees it when it wakes.
        assert!(run(&kept, PYTHON, "kept = 7").is_ok());
        sandbox::wait(kept.stop()).unwrap();
        let away = project.path().with_extension("away");
        fs::rename(project.path(), &away).unwrap();
        assert_eq!(shown(&kept, PYTHON, "kept"), 7);
        assert!(!run(&kept, PYTHON, read).is_ok());
        sandbox::wait(kept.stop()).unwrap();
        fs::rename(&away, project.path()).unwrap();
        assert_eq!(shown(&kept, PYTHON, read), "of the guest");
        drop(kept);
        close(dormouse);
    });
}

/// A folder becomes a link to the host's and back again, ten thousand times, while a snippet and a tool of the host walk.
#[test]
fn fs_04_a_folder_that_becomes_a_link_while_it_is_walked_shows_nothing() {
    case(&[PYTHON], || {
        let (folder, project) = (tempfile::tempdir().unwrap(), Project::new());
        let dormouse = open(folder.path());
        let kept = with(mounted(&project, Access::ReadWrite), &dormouse, "box");
        fs::write(project.path().join("d/canary"), "harmless").unwrap();
        let (place, outside) = (project.path().to_path_buf(), canary::path());
        let (rounds, enough) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let turning = {
            let (rounds, enough) = (rounds.clone(), enough.clone());
            let outside = outside.parent().unwrap().to_path_buf();
            std::thread::spawn(move || {
                while !enough.load(Ordering::Relaxed) {
                    rounds.fetch_add(1, Ordering::Relaxed);
                    fs::rename(place.join("d"), place.join("aside")).unwrap();
                    std::os::unix::fs::symlink(&outside, place.join("d")).unwrap();
                    fs::remove_file(place.join("d")).unwrap();
                    fs::rename(place.join("aside"), place.join("d")).unwrap();
                }
            })
        };
        let walk = "import os
seen, read = set(), 0
for n in range(300):
    for look in (lambda: open('/mnt/d/canary').read(), lambda: os.listdir('/mnt/d'), lambda: open('/mnt/d/new', 'w').close()):
        try: seen.add(str(look())); read += 1
        except OSError as error: seen.add(type(error).__name__)
[read, sorted(seen)]";
        let host = dormouse_tools::HostFolders::default().readable(project.path()).unwrap();
        let (mut walked, mut loaded) = (0, 0);
        // However fast either of them is, both have come far. The other one may get little of a processor.
        let started = Instant::now();
        while walked < 4 || loaded == 0 || rounds.load(Ordering::Relaxed) < 10_000 {
            assert!(
                started.elapsed() < Duration::from_secs(180),
                "{walked} walks, {loaded} reads in {} rounds",
                rounds.load(Ordering::Relaxed)
            );
            let mut request = EvalRequest::new(Language::python(), walk);
            request.context.limits.wall = Duration::from_secs(20);
            let outcome = sandbox::wait(kept.run(request)).unwrap();
            let shown = answer(&outcome).to_string();
            assert!(outcome.is_ok() && !shown.contains(canary::SONG), "{shown}");
            walked += 1;
            for _ in 0..50 {
                if let Ok(file) = sandbox::wait(host.read("d/canary".into(), 100)) {
                    assert_eq!(file.bytes, b"harmless");
                    loaded += 1;
                }
            }
        }
        enough.store(true, Ordering::Relaxed);
        turning.join().unwrap();
        drop(kept);
        close(dormouse);
    });
}

/// A thousand times put away and woken: descriptors, threads, memory and disk stay where they were.
#[test]
fn lif_07_parking_and_waking_leaves_nothing_behind() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let boxes: Vec<PersistentSandbox> =
            (0..20).map(|number| named(&dormouse, &format!("box-{number}"))).collect();
        let round = |boxes: &[PersistentSandbox]| {
            for kept in boxes {
                let done = run(
                    kept,
                    PYTHON,
                    "x = globals().get('x', 0) + 1\nwith open('x', 'w') as f: f.write(str(x))",
                );
                assert!(done.is_ok(), "{}", ending(&done));
                sandbox::wait(kept.stop()).unwrap();
            }
        };
        let sizes = || {
            lasting::sweep(&dormouse);
            let files = fs::read_dir(folder.path()).unwrap().flatten();
            let sizes = files.filter_map(|file| {
                let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((file.file_name(), about.len()))
            });
            sizes.collect::<BTreeMap<_, _>>()
        };
        (0..5).for_each(|_| round(&boxes));
        let (levels, disk) = (Levels::now(), sizes());
        (0..45).for_each(|_| round(&boxes));
        // SQLite keeps the file of a connection that was closed, for the next one, while others have locks on it: that of who works
        // off the log.
        let slack = Levels { memory: 32 << 10, descriptors: 4, threads: 4 };
        levels.wait_until_back("self", &slack, Duration::from_secs(20));
        let sum = |sizes: &BTreeMap<_, u64>| sizes.values().sum::<u64>();
        // The log is cut beside the calls, when nobody uses it.
        let begun = Instant::now();
        let mut after = sizes();
        while sum(&after) > sum(&disk) + (6 << 20) && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(200));
            after = sizes();
        }
        assert!(sum(&after) <= sum(&disk) + (6 << 20), "{disk:?} bytes before, {after:?} after");
        for kept in &boxes {
            assert_eq!(shown(kept, PYTHON, "[x, int(open('x').read())]")[0]["value"], 50);
        }
        assert_eq!(
            fs::read_dir(folder.path().join("locks")).unwrap().count(),
            20,
            "those that were just called"
        );
        drop(boxes);
        close(dormouse);
        assert_eq!(fs::read_dir(folder.path().join("locks")).unwrap().count(), 0);
    });
}
