//! A torture run: four owners call a real server over MCP and REST, with code that misbehaves among it, while the server is
//! killed and asked to end, its disk is filled and made read-only, and its clock is set. After each restart an oracle holds what
//! is there to what was answered.
//!
//! | room | what |
//! | --- | --- |
//! | [`history`] | the oracle: what a sandbox may hold |
//! | [`owner`], [`calls`] | a client that calls at random and notes what it is answered |
//! | [`sandbox`] | one of its sandboxes, as it knows it |
//! | [`snippets`] | what the snippets say, and those that misbehave |
//! | [`connection`] | one connection through either door |
//! | [`round`] | what befalls one life of the server |
//! | [`server`] | the server, on a disk and by a clock of its own |
//! | [`engine`] | the container engine, whose way can be closed |
//! | [`report`] | what was counted and found |
//!
//! `cargo xtask torture --minutes N` runs it; docs/testing.md says what it promises.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a program that tells what it finds")]
#![allow(clippy::cast_possible_truncation, reason = "numbers of a few sides")]

mod calls;
mod connection;
mod engine;
mod history;
mod owner;
mod report;
mod round;
mod sandbox;
mod server;
mod snippets;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, anyhow, bail, ensure};
use clap::{Parser, ValueEnum};
use dormouse_tests::between::Way;
use dormouse_tests::lasting::Dice;

use history::Broken;
use owner::Owner;
use report::Report;
use round::Round;
use server::World;

/// Who calls.
const OWNERS: [&str; 4] = ["ada", "ben", "cleo", "dan"];
/// How often it is told how far it is.
const TOLD: Duration = Duration::from_secs(60);
/// After so many kills everything that is saved is read, by `dormouse state check`.
const CHECK: u64 = 50;
/// What an empty folder may take after a sweep.
const EMPTY: u64 = 4 << 20;
/// The soak is cut into so many parts; what is held after each half of them is compared.
const PARTS: u32 = 8;
/// How much more memory may be held after a long time of work than after a short one.
const FLAT: f64 = 1.1;
/// What pools and caches of a server that has worked may take, in bytes, before memory counts as growing.
const WARM: f64 = 256.0 * 1024.0 * 1024.0;
/// So long the memory that work has taken may need to go back.
const SETTLED: Duration = Duration::from_secs(70);
/// What lies between the seeds of two worlds.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;
/// For so long an engine is away or stalls.
const UPSET: Duration = Duration::from_millis(1_500);
/// A day, in seconds.
const DAY: i64 = 86_400;

/// Torture a server: kill it, fill its disk, set its clock, while four owners call it; then look at what is there
#[derive(Parser)]
struct Plan {
    /// How long it takes in all
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    minutes: f64,
    /// How much of that one server works without being killed, so that leaks show; a fifth unless it is given
    #[arg(long, value_name = "N")]
    soak: Option<f64>,
    /// End after so many kills
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    kills: u64,
    /// So many servers side by side, each with a folder and owners of its own: a life is mostly waited in
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    worlds: u16,
    /// Whether there are containers among the sandboxes: in one world more, if an engine answers at DOCKER_HOST or the system's
    /// socket (auto); not at all (no); in every world (all)
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = Containers::Auto)]
    containers: Containers,
    /// Where the random numbers begin; the order in which threads come is not repeated
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// In which worlds there are containers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Containers {
    /// In one more, where an engine is to be had
    Auto,
    /// In none
    No,
    /// In all, which need an engine
    All,
}

/// Whether there has to be an engine, as for tests of containers.
fn is_required() -> bool {
    std::env::var_os("DORMOUSE_REQUIRE_DOCKER").is_some_and(|value| value == "1")
}

impl Plan {
    /// The worlds, by number. The causes are why there are no containers.
    fn make_worlds(&self) -> Result<(Vec<World>, Vec<String>)> {
        let mut worlds = (0..self.worlds).map(|_| World::new(&OWNERS)).collect::<Result<Vec<World>>>()?;
        let mut skipped = worlds.first().map(|world| world.skipped.clone()).unwrap_or_default();
        match self.containers {
            Containers::No => {}
            Containers::All => worlds.iter_mut().try_for_each(World::find_engine)?,
            Containers::Auto => {
                let mut more = World::new(&OWNERS)?;
                match more.find_engine() {
                    Ok(()) => worlds.push(more),
                    Err(error) if is_required() => return Err(error),
                    Err(error) => skipped.push(format!("containers: {error:#}")),
                }
            }
        }
        Ok((worlds, skipped))
    }

    /// How long one server works without being killed, and how long servers are killed.
    fn times(&self) -> (Duration, Duration) {
        let minutes = self.minutes.clamp(0.0, 100_000.0);
        let soak = self.soak.unwrap_or(minutes / 5.0).clamp(0.0, minutes);
        let of = |minutes: f64| Duration::from_secs_f64(minutes * 60.0);
        (of(soak), of(minutes - soak))
    }
}

fn main() -> ExitCode {
    match run(&Plan::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True: no promise was broken.
fn run(plan: &Plan) -> Result<bool> {
    let report = Arc::new(Report::default());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    let seed = plan.seed.unwrap_or(now).max(1);
    eprintln!("torture: --seed {seed}");
    let (worlds, skipped) = plan.make_worlds()?;
    server::clear_when_interrupted(&worlds)?;
    let mut worlds = std::thread::scope(|scope| {
        let live = |(world, at): (World, u64)| {
            let report = Arc::clone(&report);
            let seed = seed.wrapping_add(at.wrapping_mul(APART)).max(1);
            scope.spawn(move || live(plan, world, seed, &report, at == 0))
        };
        let living: Vec<_> = worlds.into_iter().zip(0..).map(live).collect();
        living
            .into_iter()
            .map(|world| world.join().unwrap_or_else(|_| bail!("a world has ended by a panic")))
            .collect::<Result<Vec<World>>>()
    })?;
    println!("{}", report.shown(&skipped));
    let is_right = report.findings() == 0;
    for world in worlds.iter_mut().filter(|_| !is_right) {
        eprintln!("torture: what was left is in {}", world.keep().display());
    }
    Ok(is_right)
}

/// The lives of one world, until the time is over or all worlds have had their kills.
fn live(plan: &Plan, world: World, seed: u64, report: &Arc<Report>, tells: bool) -> Result<World> {
    let owner = |(name, at): (&&'static str, u64)| Owner::new(name, seed.wrapping_mul(at) | 1);
    let mut owners: Vec<Owner> = OWNERS.iter().zip(1..).map(owner).collect();
    let (calm, deadly) = plan.times();
    soak(calm, &world, &mut owners, report)?;
    let (mut dice, end, mut told) = (Dice(seed), Instant::now() + deadly, Instant::now());
    while Instant::now() < end && report.events("kills") < plan.kills {
        one_life(&mut dice, &world, &mut owners, report)?;
        let left = world.processes();
        if !left.is_empty() {
            report.broken(Broken::Leaked, &format!("processes of the server: {left:?}"));
        }
        if dice.roll(CHECK) == 0 {
            check(&world, report);
        }
        if tells && told.elapsed() > TOLD {
            eprintln!("torture: {}", report.progress());
            told = Instant::now();
        }
    }
    leave_nothing(&world, &mut owners, report)?;
    Ok(world)
}

/// One life of a server, from its start to its end.
fn one_life(dice: &mut Dice, world: &World, owners: &mut [Owner], report: &Arc<Report>) -> Result<()> {
    if world.has_disk() && dice.roll(25) == 0 {
        read_only(world, owners, report)?;
    }
    let in_peace = dice.roll(5) == 0;
    // What a killed server has left is removed when the next one comes to use containers, which a short life does not.
    let before = if in_peace { world.in_engine() } else { Vec::new() };
    let server = world.serve()?;
    report.started(server.started);
    let round = Round::new(server.authority.clone(), None).with_images(world.images());
    // A container needs a moment to be there.
    let mut life = match dice.roll(if world.engine.is_some() { 12 } else { 100 }) {
        0 => Duration::from_secs(9 + dice.roll(14)),
        1..=4 => Duration::from_millis(500 + dice.roll(2_500)),
        _ => Duration::from_millis(5 + dice.roll(300)),
    };
    let (is_full, is_clock) = (world.has_disk() && dice.roll(15) == 0, dice.roll(4) == 0);
    let is_upset = world.engine.is_some() && dice.roll(4) == 0;
    let (ended, at) = std::thread::scope(|scope| {
        for owner in owners.iter_mut() {
            scope.spawn(|| owner.work(&round, report));
        }
        let mut pass = |share: u64| {
            let part = life * u32::try_from(share).unwrap_or(100) / 100;
            life -= part;
            std::thread::sleep(part);
        };
        if is_clock {
            pass(dice.roll(100));
            let days = i64::try_from(dice.roll(80)).unwrap_or_default() - 40;
            if world.step_clock(days * DAY) {
                report.event("clock steps");
            }
        }
        if is_full {
            pass(dice.roll(60));
            round.trouble();
            world.fill_disk();
            report.event("full disks");
            pass(dice.roll(60));
            if dice.roll(2) == 0 {
                world.clear_disk();
            }
        }
        if is_upset {
            pass(dice.roll(60));
            upset(dice.roll(4), &round, world, report);
        }
        pass(100);
        let ended = if in_peace {
            round.ending();
            Some(server.end())
        } else {
            server.kill();
            None
        };
        (ended, Instant::now())
    });
    let is_saved = match ended {
        None => {
            report.event("kills");
            false
        }
        Some((status, log)) => {
            report.event("ends in peace");
            if status != Some(0) && !round.had_trouble() && round.upsets().0 == 0 {
                report.broken(Broken::Refused, &format!("the server ended with {status:?}: {}", log.trim()));
            }
            status == Some(0)
        }
    };
    owners.iter_mut().for_each(|owner| owner.ended(&round, is_saved, at));
    world.clear_disk();
    if is_saved && round.upsets().0 == 0 {
        nothing_in_engine(world, report, &before, "an end in peace");
    }
    Ok(())
}

/// Something befalls the engine: it goes away or stalls for a moment, or its containers end.
fn upset(what: u64, round: &Round, world: &World, report: &Report) {
    let Some(engine) = &world.engine else { return };
    round.upset();
    match what {
        0 | 1 => {
            engine.end_containers(&world.state());
            report.event("containers that were ended");
        }
        _ => {
            let (way, event) = if what == 2 {
                (Way::Closed, "engines that went away")
            } else {
                (Way::Stalled, "engines that stalled")
            };
            engine.set(way);
            std::thread::sleep(UPSET);
            engine.set(Way::Open);
            report.event(event);
        }
    }
    round.upset();
}

/// Nothing of a server's is left in its engine, but for what was there before.
fn nothing_in_engine(world: &World, report: &Report, before: &[String], after: &str) {
    let left = world.left_in_engine(before);
    if !left.is_empty() {
        report.broken(Broken::Leaked, &format!("in the engine, after {after}: {}", left.join(", ")));
    }
}

/// A server over a folder that cannot be written: what is there can be seen, and nothing is changed.
fn read_only(world: &World, owners: &mut [Owner], report: &Arc<Report>) -> Result<()> {
    // Something may still be closing what it had open.
    if !world.state().exists() || world.protect_disk(true).is_err() {
        return Ok(());
    }
    let looked = world.serve().map(|server| {
        report.started(server.started);
        report.event("read-only disks");
        for owner in owners.iter_mut() {
            if owner.look_only(&server.authority, report).is_err() {
                report.broken(Broken::Refused, "the server has gone on a read-only disk");
            }
        }
        server.kill();
    });
    world.protect_disk(false)?;
    // The log of a process that was killed can only be read where its index can be made.
    if let Err(error) = looked {
        let told = format!("{error:#}");
        ensure!(told.contains("read-only") || told.contains("log"), "{told}");
        report.event("read-only disks with the log of a dead process");
    }
    Ok(())
}

/// Reads everything that is saved.
fn check(world: &World, report: &Report) {
    let checked = world.command(&["state", "check"]);
    report.event("checks of the whole folder");
    if checked.status != Some(0) {
        let told = format!("state check: {} {}", checked.text().trim(), checked.complaint().trim());
        report.broken(Broken::Lost, &told);
    }
}

/// One server that is not killed: after much work it holds no more than after some.
fn soak(time: Duration, world: &World, owners: &mut [Owner], report: &Arc<Report>) -> Result<()> {
    if time.is_zero() {
        return Ok(());
    }
    let server = world.serve()?;
    report.started(server.started);
    let mut held = Vec::new();
    for _ in 0..PARTS {
        let round = Round::new(server.authority.clone(), Some(Instant::now() + time / PARTS));
        let round = round.with_images(world.images());
        std::thread::scope(|scope| {
            for owner in owners.iter_mut() {
                scope.spawn(|| owner.work(&round, report));
            }
        });
        for owner in owners.iter_mut() {
            owner.clear(&server.authority).map_err(|_| anyhow!("the server has gone"))?;
        }
        std::thread::sleep(Duration::from_millis(500));
        held.push(server.holds());
    }
    // What interpreters had goes back a little later.
    let first = held[usize::try_from(PARTS / 2)?];
    let most = (first.0 as f64 * FLAT).max(WARM);
    let is_flat = |now: (u64, usize)| now.0 as f64 <= most && now.1 <= first.1 + 4;
    let begun = Instant::now();
    while !held.last().copied().is_some_and(is_flat) && begun.elapsed() < SETTLED {
        std::thread::sleep(Duration::from_millis(500));
        held.push(server.holds());
    }
    let shown: Vec<String> = held
        .iter()
        .take(PARTS as usize)
        .chain(held.last())
        .map(|(bytes, files)| format!("{} MiB/{files}", bytes >> 20))
        .collect();
    let told = format!(
        "memory and descriptors after each of {PARTS} parts of {} s, and in the end: {}",
        time.as_secs() / u64::from(PARTS),
        shown.join(", ")
    );
    eprintln!("torture: {told}");
    if !held.last().copied().is_some_and(is_flat) {
        report.broken(Broken::Leaked, &told);
    }
    let (status, log) = server.end();
    if status != Some(0) {
        report.broken(Broken::Refused, &format!("the server ended with {status:?}: {}", log.trim()));
    }
    Ok(())
}

/// Removes everything; what is left is a leak.
fn leave_nothing(world: &World, owners: &mut [Owner], report: &Arc<Report>) -> Result<()> {
    check(world, report);
    let server = world.serve()?;
    for owner in owners {
        // What has not been looked at since the last kill is looked at now.
        let round = Round::new(server.authority.clone(), Some(Instant::now() + Duration::from_millis(500)));
        let round = round.with_images(world.images());
        owner.work(&round, report);
        owner.clear(&server.authority).map_err(|_| anyhow!("the server has gone"))?;
    }
    // What servers that were killed have left is removed by the first that has to do with the engine.
    nothing_in_engine(world, report, &[], "the last server had all removed");
    server.end();
    nothing_in_engine(world, report, &[], "its end");
    let swept = world.command(&["sandbox", "sweep"]);
    ensure!(swept.status == Some(0), "a sweep: {}", swept.complaint());
    let (bytes, locks) = world.left();
    if bytes > EMPTY || locks > 0 {
        report.broken(Broken::Leaked, &format!("{bytes} bytes and {locks} locks of nothing"));
    }
    check(world, report);
    Ok(())
}
