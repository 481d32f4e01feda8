//! Single files, and files as a whole.

use std::sync::Arc;

use dormouse_core::ErrorCode;
use dormouse_core::sandbox::{ChunkSource, EntryKind, Include, Snapshot};
use dormouse_files::{Files, MemoryChunks, Tree};

use super::{Ground, path, said, spec};

pub(crate) async fn files_are_read_written_listed_and_removed(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    let files = machine.files();
    let odd = "/workspace/new folder/it's a\nname.txt";
    files.write(&path(odd), b"hello").await.unwrap();
    for (from, bytes) in [(1, &b"ell"[..]), (9, b"")] {
        let read = files.read(&path(odd), from, 3).await.unwrap();
        assert_eq!((&read.bytes[..], read.size), (bytes, 5));
        assert!(read.modified_ms > 1_700_000_000_000, "{}", read.modified_ms);
    }
    assert_eq!(files.edit(&path(odd), "l", "L", true).await.unwrap(), 2);
    assert_eq!(files.read(&path(odd), 0, 100).await.unwrap().bytes, b"heLLo");
    assert_eq!(files.edit(&path(odd), "x", "y", true).await.unwrap_err().code(), ErrorCode::ArgsInvalid);
    files.make_folder(&path("/workspace/empty/deep")).await.unwrap();
    let (entries, total) = files.list(&path("/workspace"), true, 10).await.unwrap();
    let shown: Vec<_> = entries.iter().map(|entry| (entry.path.as_str(), entry.kind, entry.bytes)).collect();
    let (folder, file) = (EntryKind::Folder, EntryKind::File);
    let want = [
        ("empty", folder, 0),
        ("empty/deep", folder, 0),
        ("new folder", folder, 0),
        ("new folder/it's a\nname.txt", file, 5),
    ];
    assert_eq!((shown.as_slice(), total), (&want[..], 4));
    assert_eq!(files.list(&path("/workspace"), false, 1).await.unwrap().1, 2);
    assert_eq!(files.stat(&path(odd)).await.unwrap().bytes, 5);
    assert_eq!(
        files.read(&path("/workspace/empty"), 0, 1).await.unwrap_err().code(),
        ErrorCode::InvalidState
    );
    assert_eq!(files.make_folder(&path(odd)).await.unwrap_err().code(), ErrorCode::InvalidState);
    files.remove(&path("/workspace/new folder"), true).await.unwrap();
    for missing in ["/workspace/new folder", odd] {
        assert_eq!(files.stat(&path(missing)).await.unwrap_err().code(), ErrorCode::NotFound);
        assert_eq!(files.remove(&path(missing), true).await.unwrap_err().code(), ErrorCode::NotFound);
    }
    for outside in ["/etc/passwd", "/", "/workspacex", "/proc/1/environ"] {
        assert_eq!(files.read(&path(outside), 0, 1).await.unwrap_err().code(), ErrorCode::PathDenied);
    }
    files.write(&path("/tmp/-rf"), b"x").await.unwrap();
    assert_eq!(
        said(&mut machine, "cat ./-rf /tmp/-rf 2>/dev/null; ls -ln /tmp/-rf | cut -d' ' -f1").await.1,
        "x-rw-r--r--\n"
    );
    // A link that a sandbox made leads to what it can reach itself, and no further.
    said(&mut machine, "ln -s /etc/passwd out; echo '#!/bin/sh' > run; chmod 700 run; ln -s run link").await;
    assert_eq!(
        machine.files().write(&path("/workspace/out"), b"x").await.unwrap_err().code(),
        ErrorCode::WriteDenied
    );
    machine.files().write(&path("/workspace/link"), b"#!/bin/sh\necho ran").await.unwrap();
    assert_eq!(said(&mut machine, "./run; stat -c %a run; readlink link").await.1, "ran\n700\nrun\n");
    drop(machine);
}

pub(crate) async fn a_state_goes_into_another_container_and_to_another_provider(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    let make = "mkdir -p d/e; echo content > d/e/f; ln -s e/f d/link; ln d/e/f again; echo t > /tmp/t; \
                printf '#!/bin/sh\\necho ran' > run; chmod +x run; mkfifo pipe; cd d";
    said(&mut machine, make).await;
    assert_eq!(
        machine.snapshot(Include::Memory).await.err().unwrap().code(),
        ErrorCode::CapabilityUnavailable
    );
    let state = machine.snapshot(Include::Both).await.unwrap();
    // The other provider's view.
    let tree = state.files().unwrap();
    let files = Files::new(tree.clone());
    assert_eq!(files.read(&path("/workspace/d/link"), 0, 100).unwrap(), b"content\n");
    assert!(files.stat(&path("/workspace/pipe")).is_err());
    // Through a store.
    let mut chunks = MemoryChunks::default();
    let saved = state.save(&mut chunks).unwrap();
    let chunks: Arc<dyn ChunkSource> = Arc::new(chunks);
    let mut reached = dormouse_core::sandbox::Reached::default();
    ground.provider().reach(&saved, chunks.as_ref(), &mut reached).unwrap();
    assert!(reached.has(&saved.root));
    let loaded = ground.provider().load(&saved, chunks).unwrap();
    said(&mut machine, "echo later > later").await;
    let mut other = ground.provider().machine(&spec(), Some(loaded)).await.unwrap();
    let (code, text, _) =
        said(&mut other, "pwd; cat link ../again /tmp/t; ../run; stat -c %h ../again").await;
    assert_eq!((code, text.as_str()), (0, "/workspace/d\ncontent\ncontent\nt\nran\n2\n"), "{text}");
    // Back in place, with nothing of what came later.
    machine.restore(state.as_ref()).await.unwrap();
    assert_eq!(said(&mut machine, "ls").await.1, "e\nlink\n");
    assert_eq!(
        machine.files().stat(&path("/workspace/d/later")).await.unwrap_err().code(),
        ErrorCode::NotFound
    );
    drop((machine, other));
}

pub(crate) async fn what_another_provider_has_elsewhere_is_not_lost_on_the_way(ground: &impl Ground) {
    let files = Files::new(Tree::default());
    files.write(&path("/home/notes"), b"kept").unwrap();
    files.write(&path("/workspace/a"), b"1").unwrap();
    let state = Other(files.snapshot());
    let mut machine = ground.provider().machine(&spec(), Some(Arc::new(state))).await.unwrap();
    said(&mut machine, "echo 2 > a").await;
    let state = machine.snapshot(Include::Files).await.unwrap();
    let after = Files::new(state.files().unwrap().clone());
    assert_eq!(after.read(&path("/home/notes"), 0, 9).unwrap(), b"kept");
    assert_eq!(after.read(&path("/workspace/a"), 0, 9).unwrap(), b"2\n");
    drop(machine);
}

/// A file with a hole is as large as it says: more than the sandbox may have is refused, not read to its end.
pub(crate) async fn a_hole_does_not_pass_the_quota(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    said(&mut machine, "truncate -s 1099511627776 hole").await;
    let error = machine.snapshot(Include::Files).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::LimitDisk, "{error}");
    said(&mut machine, "rm hole").await;
    machine.snapshot(Include::Files).await.unwrap();
    drop(machine);
}

/// Names are given and taken as in a sandbox on wasm.
pub(crate) async fn files_are_renamed_and_removed_by_name(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    said(&mut machine, "echo a > a; echo b > b; mkdir -p full/of empty; ln -s full link; ln -s a to-a").await;
    let place = |name: &str| path(&format!("/workspace/{name}"));
    let files = machine.files();
    let code = |done: dormouse_core::Result<()>| done.err().map(|error| error.code());
    files.rename(&place("a"), &place("new/deep/a"), false).await.unwrap();
    assert_eq!(code(files.rename(&place("gone"), &place("x"), false).await), Some(ErrorCode::NotFound));
    assert_eq!(
        code(files.rename(&place("b"), &place("new/deep/a"), false).await),
        Some(ErrorCode::ArgsInvalid)
    );
    files.rename(&place("b"), &place("new/deep/a"), true).await.unwrap();
    // A link gives way itself, and nothing lands where it leads to.
    files.rename(&place("new/deep/a"), &place("link"), true).await.unwrap();
    assert_eq!(files.read(&place("link"), 0, 9).await.unwrap().bytes, b"b\n");
    assert_eq!(files.list(&place("full"), false, 9).await.unwrap().1, 1);
    files.rename(&place("full"), &place("empty"), true).await.unwrap();
    assert_eq!(code(files.rename(&place("empty"), &place("link"), true).await), Some(ErrorCode::ArgsInvalid));
    assert_eq!(
        code(files.rename(&place("empty"), &place("empty/of/x"), false).await),
        Some(ErrorCode::ArgsInvalid)
    );
    assert_eq!(code(files.remove(&place("empty"), false).await), Some(ErrorCode::ArgsInvalid));
    for (name, all) in [("empty", true), ("new/deep", false), ("to-a", false), ("link", false)] {
        files.remove(&place(name), all).await.unwrap();
    }
    assert_eq!(code(files.remove(&place("link"), false).await), Some(ErrorCode::NotFound));
    assert_eq!(said(&mut machine, "ls").await.1, "new\n");
    drop(machine);
}

struct Other(Tree);

impl Snapshot for Other {
    fn save(
        &self,
        _: &mut dyn dormouse_core::sandbox::ChunkSink,
    ) -> dormouse_core::Result<dormouse_core::sandbox::SavedState> {
        Err(dormouse_core::Error::args_invalid("not saved"))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }

    fn files(&self) -> Option<&Tree> {
        Some(&self.0)
    }
}
