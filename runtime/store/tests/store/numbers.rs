//! Figures, by hand: `cargo test --release --manifest-path runtime/store/Cargo.toml numbers -- --ignored --nocapture`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dormouse_core::sandbox::{ChunkId, Ledger as _, Owner, Phase, Sandbox};

use crate::support::{State, created, noise, sandbox, store, swept};

fn median(mut what: impl FnMut(u64), times: u64) -> f64 {
    let mut took: Vec<f64> = (0..times)
        .map(|number| {
            let start = Instant::now();
            what(number);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}

#[test]
#[ignore = "figures, no test: the first line of this file has the command"]
fn numbers() {
    let place = tempfile::tempdir().unwrap();
    let base = store(place.path());
    println!("open, empty: {:.2} ms", median(|_| drop(store(place.path())), 21));
    let start = Instant::now();
    let mut all: Vec<_> = (0..100).map(|number| created(&base, &sandbox(number))).collect();
    println!("create 100: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut one = all.remove(0);
    let took = median(
        |number| one = base.update(&one, Some(&State::of(vec![noise(number, 20 << 10)]))).unwrap(),
        101,
    );
    println!("durable update with one new chunk of 20 KiB: {took:.2} ms");
    let took = median(|_| one = base.update(&one, None).unwrap(), 101);
    println!("durable update of a record alone: {took:.2} ms");
    // Half noise, half zeros: shrinks by half.
    let half = |seed| [noise(seed, 10 << 10), vec![0; 10 << 10]].concat();
    let chunks: Vec<_> = (1000..1050).map(half).collect();
    let ids: Vec<_> = chunks.iter().map(|bytes| ChunkId::of(bytes)).collect();
    base.update(&one, Some(&State::of(chunks))).unwrap();
    let source = base.chunks();
    println!(
        "read 50 chunks of 20 KiB: {:.3} ms",
        median(|_| ids.iter().for_each(|id| drop(source.get(id).unwrap())), 101)
    );
    for number in 100..1001 {
        created(&base, &sandbox(number));
    }
    let owner = Owner::local();
    println!("list 1000: {:.2} ms", median(|_| drop(base.list(&owner, None, None, 1000).unwrap()), 21));
    println!("open, 1000 sandboxes: {:.2} ms", median(|_| drop(store(place.path())), 21));
    swept(&base);
    let size = || std::fs::metadata(place.path().join("state.db")).unwrap().len();
    let before = size();
    for (number, sandbox) in (0..).zip(all) {
        // Ten pages that no other sandbox has, mostly zero, and two of files.
        let page = |seed| [noise(seed, 6 << 10), vec![0; 58 << 10]].concat();
        let mut chunks: Vec<_> = (0..10).map(|at| page(5000 + number * 10 + at)).collect();
        chunks.extend((0..2).map(|at| noise(90_000 + number * 2 + at, 2000)));
        base.update(&sandbox, Some(&State::of(chunks))).unwrap();
    }
    swept(&base);
    println!("a sandbox of 12 chunks, 64 KiB packed: {} KiB each", (size() - before) / 99 / 1024);
    drop(base);
    println!("open as the only one, 1000 sandboxes: {:.2} ms", median(|_| drop(store(place.path())), 21));
}

/// How long writers of this and of another process's connection wait while very much is swept.
#[test]
#[ignore = "figures, no test: the first line of this file has the command"]
fn numbers_of_a_sweep() {
    let place = tempfile::tempdir().unwrap();
    let base = store(place.path());
    let size = || std::fs::metadata(place.path().join("state.db")).unwrap().len() >> 20;
    for part in 0..8 {
        let gone = created(&base, &sandbox(part));
        let chunks: Vec<_> = (0..2_500).map(|at| noise(part * 10_000 + at, 64 << 10)).collect();
        let gone = base.update(&gone, Some(&State::of(chunks))).unwrap();
        base.update(&Sandbox { phase: Phase::Destroyed, ..gone }, None).unwrap();
    }
    println!("20 000 chunks of 64 KiB that nobody needs: {} MiB", size());
    let stores = [store(place.path()), store(place.path())];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = [&base, &stores[1]]
            .into_iter()
            .zip(100..)
            .map(|(store, number)| {
                let done = &done;
                scope.spawn(move || {
                    let mut own = created(store, &sandbox(number));
                    let mut took = Vec::new();
                    while !done.load(Ordering::SeqCst) {
                        let start = Instant::now();
                        own = store.update(&own, None).unwrap();
                        took.push(start.elapsed().as_secs_f64() * 1e3);
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                    took.sort_by(f64::total_cmp);
                    took
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_secs(2));
        let start = Instant::now();
        let swept = swept(&base);
        println!(
            "swept {} chunks in {:.1} s, {} MiB are left",
            swept.chunks,
            start.elapsed().as_secs_f64(),
            size()
        );
        done.store(true, Ordering::SeqCst);
        for (who, writer) in ["this process", "another connection"].into_iter().zip(writers) {
            let took = writer.join().unwrap();
            let at = |part: usize| took[(took.len() - 1) * part / 1000];
            println!(
                "{who}: {} updates, p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
                took.len(),
                at(500),
                at(990),
                at(1000)
            );
        }
    });
}
