#![allow(unsafe_code, missing_docs, clippy::all)]
use std::io::Read;
use std::time::Instant;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
mod b { wasmtime::component::bindgen!({ path: "../wit", world: "guest" }); }
use b::exports::dormouse::sandbox::interpreter::{Bounds, Options, Outcome};
struct St { ctx: WasiCtx, table: ResourceTable, lim: wasmtime::StoreLimits }
impl WasiView for St { fn ctx(&mut self) -> WasiCtxView<'_> { WasiCtxView { ctx: &mut self.ctx, table: &mut self.table } } }
impl b::dormouse::sandbox::host::Host for St {
    fn call_tool(&mut self, name: String, a: String) -> Result<String, String> { if name == "echo" { Ok(a) } else { Err(format!("no tool `{name}`")) } }
}
struct Has; impl wasmtime::component::HasData for Has { type Data<'a> = &'a mut St; }
fn store(e: &Engine) -> Store<St> {
    let mut c = WasiCtxBuilder::new();
    c.inherit_stdout().inherit_stderr().env("HOME", "/root").args(&["<snippet>", "a", "b"]);
    if let Ok(d) = std::env::var("WORK") { c.preopened_dir(d, "/workspace", FsPerms::ReadWrite).unwrap(); }
    if let Ok(d) = std::env::var("RO") { c.preopened_dir(d, "/ro", FsPerms::ReadOnly).unwrap(); }
    let lim = wasmtime::StoreLimitsBuilder::new().memory_size(std::env::var("MEM").ok().and_then(|m| m.parse().ok()).unwrap_or(256) << 20).build();
    let mut s = Store::new(e, St { ctx: c.build(), table: ResourceTable::new(), lim });
    s.limiter(|s| &mut s.lim); s.set_epoch_deadline(1 << 40); s
}
fn opts() -> Options { Options { name: "<snippet>".into(), bounds: Bounds { depth: 3, items: 50, string_bytes: 10000, total_bytes: std::env::var("TOTAL").ok().and_then(|m| m.parse().ok()).unwrap_or(262144), frames: 30, offset: 0 }, refresh_environment: false, directory: std::env::var("CWD").ok() } }
fn show(o: &Outcome) -> String { match o { Outcome::Returned(s) => format!("= {s}"), Outcome::Raised(s) => format!("! {s}"), Outcome::Exited(n) => format!("exit {n}") } }
fn p(v: &mut Vec<f64>) -> String { v.sort_by(|a, b| a.total_cmp(b)); format!("p10 {:.1} p50 {:.1} p90 {:.1} us", v[v.len() / 10], v[v.len() / 2], v[v.len() * 9 / 10]) }
fn faults() -> i64 { let s = std::fs::read_to_string("/proc/self/stat").unwrap(); s.rsplit(')').next().unwrap().split_whitespace().nth(7).unwrap().parse().unwrap() }
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut c = Config::new();
    c.max_wasm_stack(32 << 20); c.async_stack_size(33 << 20); c.epoch_interruption(true);
    let mut pool = PoolingAllocationConfig::default();
    pool.max_memory_size(1 << 30).linear_memory_keep_resident(64 << 20).table_keep_resident(1 << 20).pagemap_scan(wasmtime::Enabled::Auto).total_component_instances(50).total_core_instances(200).total_memories(50).total_tables(200).max_core_instance_size(1 << 20).max_component_instance_size(1<<20).table_elements(50000);
    c.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let e = Engine::new(&c).unwrap();
    let cw = format!("{}.cw", a[2]);
    let comp = match unsafe { Component::deserialize_file(&e, &cw) } { Ok(x) => x, Err(_) => { let x = Component::from_file(&e, &a[2]).unwrap(); std::fs::write(&cw, x.serialize().unwrap()).unwrap(); unsafe { Component::deserialize_file(&e, &cw).unwrap() } } };
    let mut l = Linker::<St>::new(&e);
    wasmtime_wasi::p2::add_to_linker_sync(&mut l).unwrap();
    b::dormouse::sandbox::host::add_to_linker::<St, Has>(&mut l, |s| s).unwrap();
    let pre = b::GuestPre::new(l.instantiate_pre(&comp).unwrap()).unwrap();
    let run = move || {
    match a[1].as_str() {
        "fresh" => {
            let src = &a[3]; let (mut i, mut x, mut t) = (vec![], vec![], vec![]);
            let mut f = 0;
            for k in 0..2000 { let f0 = faults(); let t0 = Instant::now(); let mut s = store(&e); let g = pre.instantiate(&mut s).unwrap(); let t1 = Instant::now();
                g.dormouse_sandbox_interpreter().call_eval(&mut s, src, &opts()).unwrap(); let t2 = Instant::now(); drop(s);
                i.push((t1 - t0).as_secs_f64() * 1e6); x.push((t2 - t1).as_secs_f64() * 1e6); t.push(t0.elapsed().as_secs_f64() * 1e6); if k > 1000 { f += faults() - f0; } }
            println!("inst {}\nexec {}\ntotal {}\nfaults {:.1}", p(&mut i), p(&mut x), p(&mut t), f as f64 / 999.0);
        }
        "warm" => {
            let src = &a[3]; let mut s = store(&e); let g = pre.instantiate(&mut s).unwrap(); let mut v = vec![];
            let n: usize = a.get(4).map_or(20000, |n| n.parse().unwrap());
            for _ in 0..n { let t = Instant::now(); g.dormouse_sandbox_interpreter().call_eval(&mut s, src, &opts()).unwrap(); v.push(t.elapsed().as_secs_f64() * 1e6); }
            let m = g.dormouse_sandbox_state().call_stack_pointer(&mut s).unwrap();
            println!("warm {} sp {m}", p(&mut v));
        }
        "dirty" => {
            let mut s = store(&e); let g = pre.instantiate(&mut s).unwrap();
            let mem = |s: &mut Store<St>| { g.dormouse_sandbox_state().call_memory(s).unwrap() };
            let before = mem(&mut s); println!("{}", show(&g.dormouse_sandbox_interpreter().call_eval(&mut s, &a[3], &opts()).unwrap())); let after = mem(&mut s);
            let n = before.len() / 4096; let d: Vec<usize> = (0..after.len() / 4096).filter(|&i| i >= n || before[i * 4096..][..4096] != after[i * 4096..][..4096]).collect();
            println!("memory {} KiB -> {} KiB, {} dirty pages {:?}", before.len() / 1024, after.len() / 1024, d.len(), d);
        }
        "leak" => {
            let mut s = store(&e); let g = pre.instantiate(&mut s).unwrap();
            for k in 0..a[4].parse::<usize>().unwrap() { let o = g.dormouse_sandbox_interpreter().call_eval(&mut s, &a[3], &opts()).unwrap(); if k < 2 { println!("{}", show(&o)); } 
              if (k + 1) % 1000 == 0 { println!("{} KiB", g.dormouse_sandbox_state().call_memory(&mut s).unwrap().len() / 1024); } }
        }
        _ => {
            let mut text = String::new(); std::io::stdin().read_to_string(&mut text).unwrap();
            let mut s = store(&e); let g = pre.instantiate(&mut s).unwrap();
            let fresh = std::env::var("FRESH").is_ok();
            for cell in text.split("\n---\n") {
                let mut s2; let g2; let (s, g) = if fresh { s2 = store(&e); g2 = pre.instantiate(&mut s2).unwrap(); (&mut s2, &g2) } else { (&mut s, &g) }; let it = g.dormouse_sandbox_interpreter();
                let cell = cell.trim_end_matches('\n');
                let (cmd, rest) = cell.split_once(' ').unwrap_or((cell, ""));
                let t = Instant::now();
                let r = match cmd {
                    "#get" => { let (n, q) = rest.split_once(' ').map_or((rest, None), |(n, q)| (n, Some(q))); it.call_get(&mut *s, n, q, &opts()).map(|o| show(&o)) }
                    "#set" => { let (n, q) = rest.split_once(' ').unwrap(); it.call_set(&mut *s, n, q).map(|o| format!("{o:?}")) }
                    "#vars" => it.call_vars(&mut *s, opts().bounds),
                    "#reset" => it.call_reset(&mut *s).map(|_| "reset".into()),
                    "#env" => { let mut o = opts(); o.refresh_environment = true; it.call_eval(&mut *s, rest, &o).map(|o| show(&o)) }
                    "#quiesce" => g.dormouse_sandbox_state().call_quiesce(&mut *s).map(|o| format!("{o:?} sp {}", g.dormouse_sandbox_state().call_stack_pointer(&mut *s).unwrap())),
                    "#new" => { Ok("".into()) }
                    _ => it.call_eval(&mut *s, cell, &opts()).map(|o| show(&o)),
                };
                println!("> {}\n{} [{:.1} ms]", &cell.chars().take(100).collect::<String>(), r.map_or_else(|e| format!("TRAP {e:?}"), |r| r), t.elapsed().as_secs_f64() * 1e3);
            }
        }
    } };
    std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap().join().unwrap();
}
