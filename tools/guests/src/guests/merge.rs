//! Takes the adapter from WASI preview 1 into the guest's module.
//!
//! `wit-component` makes a component of four modules: the guest, the adapter, and two that tie both together, because each
//! needs what the other has. Each new instance then wires some 160 imports. One module that holds guest and adapter has 60
//! fewer, and an instance of it is there a quarter sooner.
//!
//! A component names one function that makes room for what its imports return. The adapter has its own, which puts the bytes
//! where the program asked for them, and the guest's is its heap. So each import of the guest's own goes through a function
//! that notes in a global who is calling.
//!
//! The adapter knows success and failure as a program's end only, and whether standard input and output are terminals. The end
//! goes past it here, with its status, and terminals are none.

use anyhow::{Context, Result, bail, ensure};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wasm_encoder::{BlockType, ConstExpr, ExportKind, Function, GlobalType, MemArg, ValType};
use wasmparser::{ExternalKind, FuncType, Parser, Payload};
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::core_module::{Added, Module, Numbers, write};

/// What the adapter imports functions of the guest from; only it exports [`IMPORT_REALLOC`].
const GUEST: &str = "__main_module__";
/// Makes room for what exports take.
const REALLOC: &str = "cabi_realloc";
/// Makes room for what imports return.
const IMPORT_REALLOC: &str = "cabi_import_realloc";
/// What the adapter asks about terminals. A guest has none.
const TERMINAL: &str = "wasi:cli/terminal-";
/// How a program of preview 1 ends.
const PROC_EXIT: &str = "proc_exit";
/// How a component ends: the adapter says success or failure, and any status can be said.
const EXIT: (&str, &str) = ("wasi:cli/exit@0.2.12", "exit");
const EXIT_WITH_CODE: &str = "exit-with-code";
/// The world of that function, which the adapter's does not have.
const EXIT_WIT: &str = include_str!("../../../../runtime/wasm/src/exit.wit");
/// Sections that say which world a module is of.
const KIND: &str = "component-type";

/// The adapter, without what the guest does not use, out of a component that has it as a module of its own.
pub(crate) fn adapter_of(component: &[u8]) -> Result<&[u8]> {
    for payload in Parser::new(0).parse_all(component) {
        let Payload::ModuleSection { unchecked_range, .. } = payload? else { continue };
        let module = &component[unchecked_range];
        if Module::parse(module)?.exported(IMPORT_REALLOC, ExternalKind::Func).is_some() {
            return Ok(module);
        }
    }
    bail!("no module of the component is the adapter")
}

/// One module of a guest and its adapter. It imports what both import of others.
pub(crate) fn merge(guest: &[u8], adapter: &[u8]) -> Result<Vec<u8>> {
    let (guest, adapter) = (Module::parse(guest)?, Module::parse(adapter)?);
    ensure!(!adapter.has_state(), "the adapter has more than functions and globals");
    let plan = Plan::new(&guest, &adapter)?;
    let type_of_adapter = plan.adapter.first_type;
    let mut imports = plan.own_imports.clone();
    imports.extend(
        plan.adapter_imports.iter().map(|(module, name, kind)| (*module, *name, type_of_adapter + kind)),
    );
    let callers =
        (0..).zip(&plan.own_imports).map(|(import, (_, _, kind))| (*kind, plan.caller(import, *kind)));
    let without = plan.terminals.iter().map(|(name, kind)| (type_of_adapter + kind, no_terminal(name)));
    let leaves = plan.exit.map(|(import, kind)| (kind, leave(import)));
    let functions =
        callers.chain([(plan.realloc_type, plan.dispatch())]).chain(without).chain(leaves).collect();
    let flag = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    let whole = Module::parse(ADAPTER)?;
    let own = guest.customs.iter().filter(|(name, _)| *name != "name");
    let exit = exit_world()?;
    let exit = Module::parse(&exit)?;
    let of_exit = exit.customs.iter().filter(|_| plan.exit.is_some());
    let worlds = whole.customs.iter().chain(of_exit).filter(|(name, _)| name.starts_with(KIND));
    let added = Added {
        types: vec![(vec![ValType::I32; 4], vec![ValType::I32])],
        imports,
        functions,
        globals: vec![(flag, ConstExpr::i32_const(0))],
        exports: vec![(IMPORT_REALLOC, ExportKind::Func, plan.dispatcher)],
        customs: own.chain(worlds).copied().collect(),
        ..Added::default()
    };
    write(&mut [(&guest, plan.guest), (&adapter, plan.adapter)], &added)
}

/// Who has which number. Functions stand in this order: what the guest imports of others than the adapter, what the adapter
/// imports of others than the guest, the guest's, the adapter's, a caller for each of the first, who makes room, who answers about
/// terminals, and who ends the program.
struct Plan<'a> {
    /// What the guest imports of others: module, name, type.
    own_imports: Vec<(&'a str, &'a str, u32)>,
    /// What the adapter imports of others.
    adapter_imports: Vec<(&'a str, &'a str, u32)>,
    /// What it would import about terminals: name, type.
    terminals: Vec<(&'a str, u32)>,
    /// The import that ends the program, and the type of the function that calls it.
    exit: Option<(u32, u32)>,
    /// The types of the guest's functions.
    types: Vec<FuncType>,
    /// The type of those who make room; behind the types of both.
    realloc_type: u32,
    /// Which function makes room in the guest's heap, and which one where the adapter says.
    reallocs: [u32; 2],
    /// The global that is 1 while an import of the guest's own is called; behind the globals of both.
    is_own: u32,
    /// Who makes room for what imports return.
    dispatcher: u32,
    guest: Numbers,
    adapter: Numbers,
}

impl<'a> Plan<'a> {
    fn new(guest: &Module<'a>, adapter: &Module<'a>) -> Result<Self> {
        let (of_guest, of_adapter) = (guest.imported_functions(), adapter.imported_functions());
        ensure!(of_guest.len() == guest.imports.len(), "the guest imports more than functions");
        let own_imports: Vec<_> = of_guest.iter().copied().filter(|import| import.0 != PREVIEW1).collect();
        let of_others = of_adapter.iter().copied().filter(|import| import.0 != GUEST);
        let (terminals, mut adapter_imports): (Vec<_>, Vec<_>) =
            of_others.partition(|import| import.0.starts_with(TERMINAL));
        let exit = adapter_imports.iter_mut().zip(0..).find(|(import, _)| (import.0, import.1) == EXIT);
        let exit = exit.map(|(import, place)| {
            import.1 = EXIT_WITH_CODE;
            place
        });
        let proc_exit = of_guest.iter().find(|import| (import.0, import.1) == (PREVIEW1, PROC_EXIT));
        ensure!(proc_exit.is_none() || exit.is_some(), "the adapter has another way to end a program");

        let count = |length: usize| u32::try_from(length).context("more functions than a module may have");
        let first_of_guest = count(own_imports.len() + adapter_imports.len())?;
        let first_of_adapter = first_of_guest + count(guest.bodies.len())?;
        let first_caller = first_of_adapter + count(adapter.bodies.len())?;
        let dispatcher = first_caller + count(own_imports.len())?;
        let leaves = dispatcher + 1 + count(terminals.len())?;
        let exit = exit.zip(proc_exit).map(|(place, proc_exit)| (place, proc_exit.2));
        let exit =
            exit.map(|(place, kind)| anyhow::Ok((count(own_imports.len())? + place, kind))).transpose()?;

        let in_guest = |name: &str| {
            let place =
                guest.place_of(name).with_context(|| format!("the guest does not export `{name}`"))?;
            anyhow::Ok(first_of_guest + place)
        };
        let in_adapter = |name: &str| {
            let place =
                adapter.place_of(name).with_context(|| format!("the adapter does not export `{name}`"))?;
            anyhow::Ok(first_of_adapter + place)
        };
        let (mut callers, mut others) = (first_caller.., count(own_imports.len())?..);
        let mut answers = dispatcher + 1..;
        let mut functions = Vec::new();
        for (module, name, _) in &of_guest {
            functions.push(if (*module, *name) == (PREVIEW1, PROC_EXIT) {
                leaves
            } else if *module == PREVIEW1 {
                in_adapter(name)?
            } else {
                callers.next().context("callers")?
            });
        }
        functions.extend(first_of_guest..first_of_adapter);
        let first_type = count(guest.function_types()?.len())?;
        let globals =
            |module: &Module<'_>| module.globals.as_ref().map_or(0, wasmparser::SectionLimited::count);
        let guest_numbers = Numbers { functions, first_type: 0, first_global: 0 };

        let mut functions = Vec::new();
        for (module, name, _) in &of_adapter {
            functions.push(if *module == GUEST {
                in_guest(name)?
            } else if module.starts_with(TERMINAL) {
                answers.next().context("answers")?
            } else {
                others.next().context("imports")?
            });
        }
        functions.extend(first_of_adapter..first_caller);
        Ok(Self {
            own_imports,
            adapter_imports,
            terminals: terminals.into_iter().map(|(_, name, kind)| (name, kind)).collect(),
            exit,
            types: guest.function_types()?,
            realloc_type: first_type + count(adapter.function_types()?.len())?,
            reallocs: [in_guest(REALLOC)?, in_adapter(IMPORT_REALLOC)?],
            is_own: globals(guest) + globals(adapter),
            dispatcher,
            guest: guest_numbers,
            adapter: Numbers { functions, first_type, first_global: globals(guest) },
        })
    }

    /// Calls an import of the guest's own, and says meanwhile that it is one. After a trap nobody enters the instance again.
    fn caller(&self, import: u32, kind: u32) -> Function {
        let mut function = Function::new([]);
        let mut code = function.instructions();
        code.i32_const(1).global_set(self.is_own);
        for argument in (0..).take(self.types[kind as usize].params().len()) {
            code.local_get(argument);
        }
        code.call(import).i32_const(0).global_set(self.is_own).end();
        function
    }

    /// Makes room where who is calling wants it.
    fn dispatch(&self) -> Function {
        let [in_heap, of_adapter] = self.reallocs;
        let mut function = Function::new([]);
        let mut code = function.instructions();
        code.local_get(0).local_get(1).local_get(2).local_get(3).global_get(self.is_own);
        code.if_(BlockType::FunctionType(self.realloc_type))
            .call(in_heap)
            .else_()
            .call(of_adapter)
            .end()
            .end();
        function
    }
}

/// Ends the program with its status, of which the lowest eight bits count, as everywhere.
fn leave(exit: u32) -> Function {
    let mut function = Function::new([]);
    function.instructions().local_get(0).i32_const(0xff).i32_and().call(exit).unreachable().end();
    function
}

/// An empty module of the world of [`EXIT_WITH_CODE`].
fn exit_world() -> Result<Vec<u8>> {
    let mut module = wasm_encoder::Module::new().finish();
    let mut resolve = Resolve::default();
    let package = resolve.push_str("exit.wit", EXIT_WIT)?;
    let world = resolve.select_world(&[package], None)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(module)
}

/// Says that there is no terminal, where one is asked for; who would give one back has none.
fn no_terminal(name: &str) -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    if name.starts_with("get-") {
        code.local_get(0).i32_const(0).i32_store8(MemArg { offset: 0, align: 0, memory_index: 0 });
    }
    code.end();
    function
}

#[cfg(test)]
mod tests {
    use wasmparser::{Validator, WasmFeatures};

    use super::*;

    /// A guest that reads the clock through the adapter and asks a tool, and an adapter that needs the guest's heap.
    const PARTS: [&str; 2] = [
        r#"(module
            (import "wasi_snapshot_preview1" "clock" (func $clock (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (import "tools" "call" (func $call (param i32 i64) (result i32)))
            (table 2 funcref) (memory (export "memory") 1) (global (mut i32) (i32.const 7))
            (elem (i32.const 0) func $clock $call)
            (func $grow (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) global.get 0)
            (func (export "end") i32.const 3 call $exit)
            (func (export "run") (result i32) call $clock i32.const 1 i64.const 2 call $call i32.add)
            (data (i32.const 0) "x"))"#,
        r#"(module
            (import "env" "memory" (memory 0))
            (import "__main_module__" "cabi_realloc" (func $heap (param i32 i32 i32 i32) (result i32)))
            (import "clocks" "now" (func $now (param i32)))
            (import "wasi:cli/exit@0.2.12" "exit" (func $leave (param i32)))
            (import "wasi:cli/terminal-stdin@0.2.0" "get-terminal-stdin" (func $terminal (param i32)))
            (import "wasi:cli/terminal-input@0.2.0" "[resource-drop]terminal-input" (func $drop (param i32)))
            (global $state (mut i32) (i32.const 0))
            (func (export "clock") (result i32)
                (global.set $state (call $heap (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 16)))
                (call $terminal (global.get $state)) (call $drop (i32.const 0))
                (call $now (global.get $state)) (i32.load (global.get $state)))
            (func (export "proc_exit") (param i32) (call $leave (local.get 0)))
            (func (export "cabi_import_realloc") (param i32 i32 i32 i32) (result i32) global.get $state))"#,
    ];

    #[test]
    fn a_guest_and_its_adapter_are_one_valid_module_that_imports_what_is_others() {
        let [guest, adapter] = PARTS.map(|text| wat::parse_str(text).expect("the text"));
        let merged = merge(&guest, &adapter).expect("both");
        Validator::new_with_features(WasmFeatures::default()).validate_all(&merged).expect("valid");
        let module = Module::parse(&merged).expect("a module");
        let imports: Vec<_> = module.imported_functions().iter().map(|import| (import.0, import.1)).collect();
        assert_eq!(imports, [("tools", "call"), ("clocks", "now"), (EXIT.0, EXIT_WITH_CODE)]);
        let exports: Vec<_> = module.exports.iter().map(|export| export.name).collect();
        assert_eq!(exports, ["memory", REALLOC, "end", "run", IMPORT_REALLOC]);
        assert!(module.customs.iter().any(|(name, _)| name.starts_with(KIND)), "the adapter's world");
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let [guest, adapter] = PARTS.map(|text| wat::parse_str(text).expect("the text"));
        let told = |guest: &[u8], adapter: &[u8]| merge(guest, adapter).expect_err("refused").to_string();
        assert_eq!(told(&adapter, &adapter), "the guest imports more than functions");
        assert!(told(&guest, &guest).contains("more than functions and globals"));
        let unknown = wat::parse_str(PARTS[0].replace("\"clock\"", "\"sing\"")).expect("the text");
        assert_eq!(told(&unknown, &adapter), "the adapter does not export `sing`");
    }
}
