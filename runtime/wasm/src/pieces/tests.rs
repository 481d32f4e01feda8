//! What is done in pieces leaves the same memory, and traps in the same places.

use wasmtime::component::Component;
use wasmtime::{Config, Engine, Instance, Memory, Module, Store, Trap, TypedFunc};

use super::*;

const P: u32 = PIECE;
/// Bytes of the memory: six pieces.
const SIZE: u32 = 6 * P;

/// A module with each operation, a segment of three pieces, a small one, and names, tables and exports that must go on meaning
/// what they meant. Operations stand in the middle of bodies, beside operators of the same prefix.
fn text() -> String {
    format!(
        r#"(module $all
        (type $unused (func (param f32)))
        (import "host" "seen" (func $seen (param i32)))
        (memory (export "memory") {pages})
        (table 4 funcref)
        (elem (i32.const 0) $fill $copy)
        (func $fill (export "fill") (param i32 i32 i32)
            (if (local.get 2) (then (memory.fill (local.get 0) (local.get 1) (local.get 2))) (else
                (memory.fill (local.get 0) (local.get 1) (local.get 2))))
            (call $seen (i32.trunc_sat_f32_s (f32.convert_i32_u (local.get 2)))))
        (func $copy (export "copy") (param i32 i32 i32)
            (memory.copy (local.get 0) (local.get 1) (local.get 2)) (call $seen (local.get 2)))
        (func $init (export "init") (param i32 i32 i32)
            (memory.init $large (local.get 0) (local.get 1) (local.get 2)))
        (func $small (export "small") (param i32 i32 i32)
            (memory.init $little (local.get 0) (local.get 1) (local.get 2)))
        (func (export "drop") (data.drop $large))
        (func (export "indirect") (param i32 i32 i32)
            (call_indirect (param i32 i32 i32) (local.get 0) (local.get 1) (local.get 2) (i32.const 0)))
        (data $little "abc")
        (data $large "{large}"))"#,
        pages = SIZE / 65_536,
        large = "0123456789abcdef".repeat(3 * P as usize / 16),
    )
}

struct Ran {
    store: Store<Vec<i32>>,
    instance: Instance,
    memory: Memory,
}

impl Ran {
    fn new(engine: &Engine, wasm: &[u8]) -> Self {
        let module = Module::new(engine, wasm).unwrap();
        let mut store = Store::new(engine, Vec::new());
        store.set_epoch_deadline(u64::MAX >> 1);
        let seen =
            wasmtime::Func::wrap(&mut store, |mut caller: wasmtime::Caller<'_, Vec<i32>>, length: i32| {
                caller.data_mut().push(length);
            });
        let instance = Instance::new(&mut store, &module, &[seen.into()]).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        for (index, byte) in memory.data_mut(&mut store).iter_mut().enumerate() {
            *byte = u8::try_from((index ^ (index >> 8) ^ (index >> 16)) & 0xff).unwrap();
        }
        Self { store, instance, memory }
    }

    fn call(&mut self, name: &str, (to, from, length): (u32, u32, u32)) -> Option<Trap> {
        let function: TypedFunc<(u32, u32, u32), ()> =
            self.instance.get_typed_func(&mut self.store, name).unwrap();
        let called = function.call(&mut self.store, (to, from, length));
        called.err().map(|error| *error.downcast_ref::<Trap>().expect("a trap"))
    }
}

fn engine() -> Engine {
    Engine::new(Config::new().epoch_interruption(true)).unwrap()
}

#[test]
fn the_same_memory_and_the_same_traps() {
    let wasm = wat::parse_str(text()).unwrap();
    let rewritten = rewrite(&wasm).unwrap();
    assert!(matches!(rewritten, Cow::Owned(_)));
    let engine = engine();
    let (mut plain, mut pieces) = (Ran::new(&engine, &wasm), Ran::new(&engine, &rewritten));
    let lengths = [0, 1, P - 1, P, P + 1, 2 * P - 1, 2 * P, 2 * P + 1, 3 * P - 7, 3 * P, 3 * P + 1];
    let mut cases = Vec::new();
    for length in lengths {
        cases.push(("fill", (5, 0x1ff, length)));
        cases.push(("indirect", (P, 7, length)));
        cases.push(("small", (9, 1, length.min(3))));
        for (to, from) in [(0, 0), (0, 1), (1, 0), (3, P), (P, 3), (P - 1, P), (P, P - 1), (0, 3 * P)] {
            cases.push(("copy", (to, from, length)));
        }
        // To the last byte, and one further.
        for past in [0, 1] {
            let end = SIZE - length + past;
            cases.extend([
                ("fill", (end, 1, length)),
                ("copy", (end, 0, length)),
                ("copy", (0, end, length)),
            ]);
            cases.push(("init", (end, 0, length)));
            cases.push(("init", (0, (3 * P).wrapping_sub(length).wrapping_add(past), length)));
        }
    }
    // Past the end of all addresses.
    for length in [P, P + 1, u32::MAX - 1, u32::MAX] {
        for (to, from) in [(u32::MAX, 0), (0, u32::MAX), (u32::MAX - P, 4), (4, u32::MAX - P), (1, 1), (0, 0)]
        {
            cases.extend(["fill", "copy", "init", "small"].map(|name| (name, (to, from, length))));
        }
    }
    let mut trapped = 0;
    for (name, range) in cases {
        let (expected, found) = (plain.call(name, range), pieces.call(name, range));
        assert_eq!(expected, found, "{name} {range:?}");
        trapped += usize::from(found.is_some());
        let same = plain.memory.data(&plain.store) == pieces.memory.data(&pieces.store);
        assert!(same, "{name} {range:?} leaves another memory");
    }
    assert!(trapped > 50, "{trapped}");
    assert_eq!(plain.store.data(), pieces.store.data(), "the import was called as often, with the same");
    // A segment that was dropped has no bytes.
    for ran in [&mut plain, &mut pieces] {
        let drop: TypedFunc<(), ()> = ran.instance.get_typed_func(&mut ran.store, "drop").unwrap();
        drop.call(&mut ran.store, ()).unwrap();
        assert_eq!(ran.call("init", (0, 0, 2 * P)), Some(Trap::MemoryOutOfBounds));
        assert_eq!(ran.call("init", (0, 0, 0)), None);
    }
}

#[test]
fn a_long_operation_ends_at_the_deadline() {
    let wasm = wat::parse_str(text()).unwrap();
    let engine = engine();
    for (name, range) in [
        ("fill", (0, 1, SIZE)),
        ("copy", (0, 1, SIZE - 1)),
        ("copy", (1, 0, SIZE - 1)),
        ("init", (0, 0, 3 * P)),
    ] {
        let mut ran = Ran::new(&engine, &rewrite(&wasm).unwrap());
        // Body, function, first piece: the deadline is there at the third look at the clock, in the middle of the operation.
        ran.store.set_epoch_deadline(1);
        let mut looks = 0;
        ran.store.epoch_deadline_callback(move |_| {
            looks += 1;
            Ok(if looks > 4 {
                wasmtime::UpdateDeadline::Interrupt
            } else {
                wasmtime::UpdateDeadline::Continue(0)
            })
        });
        engine.increment_epoch();
        assert_eq!(ran.call(name, range), Some(Trap::Interrupt), "{name} {range:?}");
    }
}

#[test]
fn what_has_no_bulk_operation_stays_as_it_is() {
    for text in [
        "(module)",
        "(module (func (drop (i32.trunc_sat_f32_s (f32.const 1)))))",
        "(module (table 3 funcref) (func (table.fill (i32.const 0) (ref.null func) (i32.const 2))))",
        r#"(module (memory 1) (data $d "x") (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))))"#,
        "(component (core module))",
    ] {
        let wasm = wat::parse_str(text).unwrap();
        assert!(matches!(rewrite(&wasm).unwrap(), Cow::Borrowed(same) if same == wasm), "{text}");
    }
}

#[test]
fn an_operation_written_longer_than_it_has_to_be_is_found() {
    let wasm =
        wat::parse_str("(module (memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))))")
            .unwrap();
    // The last section: one body of eleven bytes, which gets two more.
    let at = wasm.windows(3).position(|bytes| bytes == [0xfc, 0x0b, 0]).unwrap();
    let mut longer = [&wasm[..=at], &[0x8b, 0x80, 0][..], &wasm[at + 2..]].concat();
    let body = at - 8;
    longer[body] += 2;
    longer[body - 2] += 2;
    Module::new(&engine(), &longer).unwrap();
    let rewritten = rewrite(&longer).unwrap();
    Module::new(&engine(), &rewritten).unwrap();
    assert_eq!(rewritten.windows(2).filter(|pair| *pair == [0xfc, 0x0b]).count(), 4, "only in the function");
}

#[test]
fn modules_in_components_in_components() {
    let inner = "(core module $m (memory 1)
        (func (export \"f\") (memory.copy (i32.const 0) (i32.const 0) (i32.const 9))))";
    let text = format!(
        "(component {inner} (core instance (instantiate $m)) (component (component {inner}))
            (alias core export 0 \"f\" (core func $f)))"
    );
    let wasm = wat::parse_str(&text).unwrap();
    let rewritten = rewrite(&wasm).unwrap();
    Component::new(&engine(), &rewritten).unwrap();
    let bodies = |wasm: &[u8]| {
        let payloads = wasmparser::Parser::new(0).parse_all(wasm);
        payloads.filter(|one| matches!(one, Ok(wasmparser::Payload::CodeSectionEntry(_)))).count()
    };
    assert_eq!((bodies(&wasm), bodies(&rewritten)), (2, 4));
    assert_eq!(rewrite(&wasm).unwrap(), rewritten, "always the same bytes");
}

#[test]
fn what_is_no_webassembly_is_said() {
    let wasm = wat::parse_str(text()).unwrap();
    assert!(matches!(rewrite(&wasm[..wasm.len() - 1]), Err(Unread::Malformed(_))));
    assert!(matches!(rewrite(b"no"), Err(Unread::Malformed(_))));
    let mut deep = wat::parse_str("(component)").unwrap();
    for _ in 0..=MAX_DEPTH {
        let mut outer = wat::parse_str("(component)").unwrap();
        outer.push(in_component::COMPONENT);
        deep.encode(&mut outer);
        deep = outer;
    }
    assert!(matches!(rewrite(&deep), Err(Unread::TooDeep)));
}
