//! Saved state of sandboxes that was changed on the disk: refused, and nothing is half restored.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dormouse::sandbox::{EntryKind, Handle, Owner};
use dormouse::{Dormouse, ErrorCode, GuestPath, PersistentSandbox};
use dormouse_tests::lasting::{self, Dice, named, remember, remembered, run, shown};
use dormouse_tests::{PYTHON, sandbox};

/// Bytes that do not shrink, as text of a snippet and as they are.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut dice = Dice(seed);
    (0..len).map(|_| u8::try_from(dice.roll(256)).unwrap_or(0)).collect()
}

/// Changes one bit in the middle of where `bytes` lie in the database, which nobody may have open.
pub(crate) fn flip(folder: &Path, bytes: &[u8]) {
    let file = folder.join("state.db");
    let mut database = fs::read(&file).expect("the database can be read");
    // Part of it: a chunk is cut into pages of the database, and one cut can go through the part that is looked for.
    let parts = (4..12).map(|part| &bytes[bytes.len() / 16 * part..][..64]);
    let found = |needle: &[u8]| database.windows(needle.len()).position(|window| window == needle);
    let at = parts.into_iter().find_map(found).expect("it is saved as it is");
    database[at + 32] ^= 1;
    fs::write(&file, database).expect("the database can be written");
}

#[test]
fn lif_03_a_damaged_checkpoint_is_refused_and_the_sandbox_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let secret = noise(7, 200_000);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    sandbox::wait(kept.write("/workspace/noise", secret.clone())).unwrap();
    assert!(run(&kept, PYTHON, "x = bytearray(200_000)\nwith open('noise', 'rb', 0) as f: f.readinto(x)\nimport os; os.remove('noise')").is_ok());
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    // From here on it is in the checkpoint alone.
    assert!(run(&kept, PYTHON, &format!("x[:] = bytes(len(x))\n{}", remember(5))).is_ok());
    let whole = sandbox::wait(kept.checkpoint()).unwrap();
    drop(kept);
    lasting::close(dormouse);
    flip(folder.path(), &secret);

    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(remembered(&kept), (Some(5), Some(5)));
    for _ in 0..2 {
        let error = sandbox::wait(kept.restore(&saved)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StateDamaged, "{error}");
        assert!(error.hint().is_some());
        assert_eq!(remembered(&kept), (Some(5), Some(5)), "no part of it was restored");
    }
    // A fork of it is made, and says the same at its first call; the others go on.
    let (found, owner) = (lasting::sandboxes(&dormouse), Owner::local());
    let handle = Handle::IdOrName("box");
    let fork = sandbox::wait(found.fork(&owner, &handle, 1, Some(saved.label.id.as_str()))).unwrap();
    let id = fork[0].sandbox.id.clone();
    let error = sandbox::wait(named(&dormouse, id.as_str()).eval(PYTHON, "1")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StateDamaged);
    sandbox::wait(found.destroy(&owner, &Handle::IdOrName(id.as_str()))).unwrap();
    sandbox::wait(kept.restore(&whole)).unwrap();
    assert_eq!(remembered(&kept), (Some(5), Some(5)));
    lasting::close(dormouse);
}

#[test]
fn lif_03_a_damaged_file_is_an_error_where_it_is_read_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let secret = noise(9, 200_000);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    sandbox::wait(kept.write("/workspace/noise", secret.clone())).unwrap();
    sandbox::wait(kept.write("/workspace/other", "whole")).unwrap();
    assert!(run(&kept, PYTHON, "x = 1").is_ok());
    drop(kept);
    lasting::close(dormouse);
    flip(folder.path(), &secret);

    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(sandbox::wait(kept.read("/workspace/noise")).is_err());
    assert_eq!(
        shown(
            &kept,
            PYTHON,
            "try:\n    open('noise', 'rb').read()\nexcept OSError as e:\n    r = 'refused'\nr"
        ),
        "refused"
    );
    assert_eq!(sandbox::wait(kept.read("/workspace/other")).unwrap(), b"whole");
    assert_eq!(shown(&kept, PYTHON, "x"), 1);
    sandbox::wait(kept.write("/workspace/noise", "anew")).unwrap();
    assert_eq!(shown(&kept, PYTHON, "open('noise').read()"), "anew");
    lasting::close(dormouse);
}

/// Path, kind, content: all of the tree below a folder.
fn tree(dormouse: &Dormouse, kept: &PersistentSandbox) -> BTreeMap<String, (String, Vec<u8>)> {
    let (found, owner) = (lasting::sandboxes(dormouse), Owner::local());
    let handle = Handle::IdOrName(kept.id().as_str());
    let folder = GuestPath::parse("/workspace").unwrap();
    let (entries, total) = sandbox::wait(found.list_files(&owner, &handle, folder, true, 10_000)).unwrap();
    assert_eq!(entries.len() as u64, total);
    let mut tree = BTreeMap::new();
    for entry in entries {
        // The many small ones are all alike but for their names.
        let content = match entry.kind {
            EntryKind::File if !entry.path.starts_with("many/") => {
                sandbox::wait(kept.read(&format!("/workspace/{}", entry.path))).unwrap()
            }
            _ => Vec::new(),
        };
        tree.insert(entry.path, (format!("{:?} {}", entry.kind, entry.bytes), content));
    }
    tree
}

#[test]
fn lif_04_a_checkpoint_with_open_files_links_and_very_many_files_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    let made = "import os
os.makedirs('deep/' + '/'.join('d' * 50))
os.makedirs('many')
for n in range(9000): open(f'many/{n}', 'w').write(str(n))
open('data', 'wb').write(bytes(range(256)) * 1000)
os.symlink('data', 'link'); os.symlink('nowhere', 'dangling'); os.symlink('../..', 'up')
os.link('data', 'second')
with open('holes', 'wb') as f: f.seek(1 << 20); f.write(b'end')
handle = open('open', 'w'); handle.write('flushed'); handle.flush(); handle.write('not flushed')
gone = open('gone', 'w'); gone.write('x'); os.unlink('gone')
x = 1";
    let mut request = dormouse::EvalRequest::new(dormouse::Language::python(), made);
    request.context.limits.wall = std::time::Duration::from_secs(30);
    let outcome = sandbox::wait(kept.run(request)).unwrap();
    assert!(outcome.is_ok(), "{}", dormouse_tests::ending::told(&outcome));
    let (found, owner) = (lasting::sandboxes(&dormouse), Owner::local());
    let handle = Handle::IdOrName("box");
    let (saved, closed) =
        sandbox::wait(found.checkpoint(&owner, &handle, None, dormouse::sandbox::Include::Both)).unwrap();
    assert!(closed.is_empty(), "{closed:?}");
    let before = tree(&dormouse, &kept);
    assert!(before.len() > 9_050 && !before.contains_key("gone"), "{}", before.len());

    let change = "import shutil
shutil.rmtree('many'); os.remove('data'); os.makedirs('data'); open('data/new', 'w').write('n')
os.remove('link'); open('link', 'w').write('a file'); os.rename('holes', 'moved'); x = 2";
    assert!(run(&kept, PYTHON, change).is_ok());
    assert_ne!(tree(&dormouse, &kept), before);
    for _ in 0..2 {
        sandbox::wait(kept.restore(&saved)).unwrap();
        assert!(tree(&dormouse, &kept) == before, "the tree is another");
        assert_eq!(
            shown(&kept, PYTHON, "[x, handle.closed, os.readlink('up'), os.stat('data').st_nlink]")[0]["value"],
            1
        );
        assert_eq!(shown(&kept, PYTHON, "[handle.closed, gone.closed]")[0]["value"], false);
    }
    lasting::close(dormouse);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(tree(&dormouse, &kept) == before, "another process finds another tree");
    lasting::close(dormouse);
}
