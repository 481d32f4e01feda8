//! Takes the adapter from WASI preview 1 into the guest's module.
//!
//! `wit-component` makes a component of four modules: the guest, the adapter, and two that tie both together, because each
//! needs what the other has. Each new instance then wires some 160 imports. One module that holds guest and adapter has 60
//! fewer, and an instance of it is there a quarter sooner.
//!
//! A component names one function that makes room for what its imports return. The adapter has its own, which puts the bytes
//! where the program asked for them, and the guest's is its heap. So each import of the guest's own goes through a function
//! that notes in a global who is calling.

use anyhow::{Context, Result, bail, ensure};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, CustomSection, DataCountSection, DataSection, ElementSection,
    EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    ImportSection, MemorySection, StartSection, TableSection, TagSection, TypeSection, ValType,
};
use wasmparser::{
    DataSectionReader, ElementSectionReader, Export, ExternalKind, FuncType, FunctionBody,
    FunctionSectionReader, GlobalSectionReader, Import, MemorySectionReader, Parser, Payload,
    TableSectionReader, TagSectionReader, TypeRef, TypeSectionReader,
};

/// What the adapter imports functions of the guest from; only it exports [`IMPORT_REALLOC`].
const GUEST: &str = "__main_module__";
/// Makes room for what exports take.
const REALLOC: &str = "cabi_realloc";
/// Makes room for what imports return.
const IMPORT_REALLOC: &str = "cabi_import_realloc";
/// Sections that say which world a module is of.
const KIND: &str = "component-type";

/// The adapter, without what the guest does not use, out of a component that has it as a module of its own.
pub(crate) fn adapter_of(component: &[u8]) -> Result<&[u8]> {
    for payload in Parser::new(0).parse_all(component) {
        let Payload::ModuleSection { unchecked_range, .. } = payload? else { continue };
        let module = &component[unchecked_range];
        if Module::parse(module)?.exported(IMPORT_REALLOC).is_some() {
            return Ok(module);
        }
    }
    bail!("no module of the component is the adapter")
}

/// One module of a guest and its adapter. It imports what both import of others.
pub(crate) fn merge(guest: &[u8], adapter: &[u8]) -> Result<Vec<u8>> {
    let (guest, adapter) = (Module::parse(guest)?, Module::parse(adapter)?);
    ensure!(!adapter.has_state(), "the adapter has more than functions and globals");
    let mut plan = Plan::new(&guest, &adapter)?;
    let mut merged = wasm_encoder::Module::new();
    plan.declare(&guest, &adapter, &mut merged)?;
    plan.define(&guest, &adapter, &mut merged)?;
    for (name, bytes) in guest.customs.iter().filter(|(name, _)| *name != "name") {
        merged.section(&CustomSection { name: (*name).into(), data: (*bytes).into() });
    }
    for (name, bytes) in Module::parse(ADAPTER)?.customs.iter().filter(|(name, _)| name.starts_with(KIND)) {
        merged.section(&CustomSection { name: (*name).into(), data: (*bytes).into() });
    }
    Ok(merged.finish())
}

/// The sections of a module.
#[derive(Default)]
struct Module<'a> {
    types: Option<TypeSectionReader<'a>>,
    imports: Vec<Import<'a>>,
    functions: Option<FunctionSectionReader<'a>>,
    tables: Option<TableSectionReader<'a>>,
    memories: Option<MemorySectionReader<'a>>,
    tags: Option<TagSectionReader<'a>>,
    globals: Option<GlobalSectionReader<'a>>,
    exports: Vec<Export<'a>>,
    start: Option<u32>,
    elements: Option<ElementSectionReader<'a>>,
    data_count: Option<u32>,
    bodies: Vec<FunctionBody<'a>>,
    data: Option<DataSectionReader<'a>>,
    customs: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Module<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(section) => module.types = Some(section),
                Payload::ImportSection(section) => {
                    module.imports = section.into_imports().collect::<Result<_, _>>()?;
                }
                Payload::FunctionSection(section) => module.functions = Some(section),
                Payload::TableSection(section) => module.tables = Some(section),
                Payload::MemorySection(section) => module.memories = Some(section),
                Payload::TagSection(section) => module.tags = Some(section),
                Payload::GlobalSection(section) => module.globals = Some(section),
                Payload::ExportSection(section) => {
                    module.exports = section.into_iter().collect::<Result<_, _>>()?
                }
                Payload::StartSection { func, .. } => module.start = Some(func),
                Payload::ElementSection(section) => module.elements = Some(section),
                Payload::DataCountSection { count, .. } => module.data_count = Some(count),
                Payload::CodeSectionEntry(body) => module.bodies.push(body),
                Payload::DataSection(section) => module.data = Some(section),
                Payload::CustomSection(section) => module.customs.push((section.name(), section.data())),
                Payload::Version { .. } | Payload::CodeSectionStart { .. } | Payload::End(_) => {}
                other => bail!("a module with {other:?}"),
            }
        }
        Ok(module)
    }

    /// The number of the exported function of that name.
    fn exported(&self, name: &str) -> Option<u32> {
        let is_it = |export: &&Export<'_>| export.name == name && export.kind == ExternalKind::Func;
        self.exports.iter().find(is_it).map(|export| export.index)
    }

    /// The place of an exported function among the module's own, which are counted from behind its imports.
    fn place_of(&self, name: &str) -> Option<u32> {
        self.exported(name)?.checked_sub(u32::try_from(self.imported_functions().len()).ok()?)
    }

    /// The types of functions; a guest has no others.
    fn function_types(&self) -> Result<Vec<FuncType>> {
        let mut types = Vec::new();
        for group in self.types.clone().into_iter().flatten() {
            for kind in group?.into_types() {
                types.push(kind.composite_type.inner.clone());
            }
        }
        let is_function = |kind| match kind {
            wasmparser::CompositeInnerType::Func(function) => Ok(function),
            other => bail!("a type that is no function's: {other:?}"),
        };
        types.into_iter().map(is_function).collect()
    }

    /// Imported functions in their order: module, name, type.
    fn imported_functions(&self) -> Vec<(&'a str, &'a str, u32)> {
        let function = |import: &Import<'a>| match import.ty {
            TypeRef::Func(kind) => Some((import.module, import.name, kind)),
            _ => None,
        };
        self.imports.iter().filter_map(function).collect()
    }

    /// Whether it has a memory, tables, data or a start function, which only the guest may have.
    fn has_state(&self) -> bool {
        self.tables.is_some()
            || self.memories.is_some()
            || self.tags.is_some()
            || self.start.is_some()
            || self.elements.is_some()
            || self.data.is_some()
    }
}

/// The numbers that a module's own become in the merged one.
struct Numbers {
    functions: Vec<u32>,
    first_type: u32,
    first_global: u32,
}

impl Reencode for Numbers {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, reencode::Error> {
        Ok(self.functions[function as usize])
    }

    fn type_index(&mut self, kind: u32) -> Result<u32, reencode::Error> {
        Ok(self.first_type + kind)
    }

    fn global_index(&mut self, global: u32) -> Result<u32, reencode::Error> {
        Ok(self.first_global + global)
    }
}

/// Who has which number. Functions stand in this order: what the guest imports of others than the adapter, what the adapter
/// imports of others than the guest, the guest's, the adapter's, a caller for each of the first, and who makes room.
struct Plan<'a> {
    /// What the guest imports of others: module, name, type.
    own_imports: Vec<(&'a str, &'a str, u32)>,
    /// What the adapter imports of others.
    adapter_imports: Vec<(&'a str, &'a str, u32)>,
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
        let adapter_imports: Vec<_> = of_adapter.iter().copied().filter(|import| import.0 != GUEST).collect();

        let count = |length: usize| u32::try_from(length).context("more functions than a module may have");
        let first_of_guest = count(own_imports.len() + adapter_imports.len())?;
        let first_of_adapter = first_of_guest + count(guest.bodies.len())?;
        let first_caller = first_of_adapter + count(adapter.bodies.len())?;
        let dispatcher = first_caller + count(own_imports.len())?;

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
        let mut functions = Vec::new();
        for (module, name, _) in &of_guest {
            functions.push(if *module == PREVIEW1 {
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
            } else {
                others.next().context("imports")?
            });
        }
        functions.extend(first_of_adapter..first_caller);
        Ok(Self {
            own_imports,
            adapter_imports,
            types: guest.function_types()?,
            realloc_type: first_type + count(adapter.function_types()?.len())?,
            reallocs: [in_guest(REALLOC)?, in_adapter(IMPORT_REALLOC)?],
            is_own: globals(guest) + globals(adapter),
            dispatcher,
            guest: guest_numbers,
            adapter: Numbers { functions, first_type, first_global: globals(guest) },
        })
    }

    /// The sections up to the globals.
    fn declare(
        &mut self,
        guest: &Module<'_>,
        adapter: &Module<'_>,
        merged: &mut wasm_encoder::Module,
    ) -> Result<()> {
        let mut types = TypeSection::new();
        for (module, numbers) in [(guest, &mut self.guest), (adapter, &mut self.adapter)] {
            numbers
                .parse_type_section(&mut types, module.types.clone().context("a module without types")?)?;
        }
        types.ty().function([ValType::I32; 4], [ValType::I32]);
        merged.section(&types);

        let mut imports = ImportSection::new();
        for (module, name, kind) in &self.own_imports {
            imports.import(module, name, EntityType::Function(*kind));
        }
        for (module, name, kind) in &self.adapter_imports {
            imports.import(module, name, EntityType::Function(self.adapter.first_type + kind));
        }
        merged.section(&imports);

        let mut functions = FunctionSection::new();
        for (module, numbers) in [(guest, &mut self.guest), (adapter, &mut self.adapter)] {
            let section = module.functions.clone().context("a module without functions")?;
            numbers.parse_function_section(&mut functions, section)?;
        }
        for (_, _, kind) in &self.own_imports {
            functions.function(*kind);
        }
        functions.function(self.realloc_type);
        merged.section(&functions);

        if let Some(section) = guest.tables.clone() {
            let mut tables = TableSection::new();
            self.guest.parse_table_section(&mut tables, section)?;
            merged.section(&tables);
        }
        let mut memories = MemorySection::new();
        let section = guest.memories.clone().context("the guest has no memory")?;
        self.guest.parse_memory_section(&mut memories, section)?;
        merged.section(&memories);
        if let Some(section) = guest.tags.clone() {
            let mut tags = TagSection::new();
            self.guest.parse_tag_section(&mut tags, section)?;
            merged.section(&tags);
        }

        let mut globals = GlobalSection::new();
        for (module, numbers) in [(guest, &mut self.guest), (adapter, &mut self.adapter)] {
            if let Some(section) = module.globals.clone() {
                numbers.parse_global_section(&mut globals, section)?;
            }
        }
        let flag = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(flag, &ConstExpr::i32_const(0));
        merged.section(&globals);
        Ok(())
    }

    /// The sections from the exports on.
    fn define(
        &mut self,
        guest: &Module<'_>,
        adapter: &Module<'_>,
        merged: &mut wasm_encoder::Module,
    ) -> Result<()> {
        let mut exports = ExportSection::new();
        for export in &guest.exports {
            self.guest.parse_export(&mut exports, *export)?;
        }
        exports.export(IMPORT_REALLOC, ExportKind::Func, self.dispatcher);
        merged.section(&exports);
        if let Some(function) = guest.start {
            merged.section(&StartSection { function_index: self.guest.function_index(function)? });
        }
        if let Some(section) = guest.elements.clone() {
            let mut elements = ElementSection::new();
            self.guest.parse_element_section(&mut elements, section)?;
            merged.section(&elements);
        }
        if let Some(count) = guest.data_count {
            merged.section(&DataCountSection { count });
        }

        let mut code = CodeSection::new();
        for (module, numbers) in [(guest, &mut self.guest), (adapter, &mut self.adapter)] {
            for body in &module.bodies {
                numbers.parse_function_body(&mut code, body.clone())?;
            }
        }
        for (function, (_, _, kind)) in (0..).zip(&self.own_imports) {
            code.function(&self.caller(function, &self.types[*kind as usize]));
        }
        code.function(&self.dispatch());
        merged.section(&code);
        if let Some(section) = guest.data.clone() {
            let mut data = DataSection::new();
            self.guest.parse_data_section(&mut data, section)?;
            merged.section(&data);
        }
        Ok(())
    }

    /// Calls an import of the guest's own, and says meanwhile that it is one. After a trap nobody enters the instance again.
    fn caller(&self, import: u32, kind: &FuncType) -> Function {
        let mut function = Function::new([]);
        let mut code = function.instructions();
        code.i32_const(1).global_set(self.is_own);
        for argument in (0..).take(kind.params().len()) {
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

#[cfg(test)]
mod tests {
    use wasmparser::{Validator, WasmFeatures};

    use super::*;

    /// A guest that reads the clock through the adapter and asks a tool, and an adapter that needs the guest's heap.
    const PARTS: [&str; 2] = [
        r#"(module
            (import "wasi_snapshot_preview1" "clock" (func $clock (result i32)))
            (import "tools" "call" (func $call (param i32 i64) (result i32)))
            (table 2 funcref) (memory (export "memory") 1) (global (mut i32) (i32.const 7))
            (elem (i32.const 0) func $clock $call)
            (func $grow (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) global.get 0)
            (func (export "run") (result i32) call $clock i32.const 1 i64.const 2 call $call i32.add)
            (data (i32.const 0) "x"))"#,
        r#"(module
            (import "env" "memory" (memory 0))
            (import "__main_module__" "cabi_realloc" (func $heap (param i32 i32 i32 i32) (result i32)))
            (import "clocks" "now" (func $now (param i32)))
            (global $state (mut i32) (i32.const 0))
            (func (export "clock") (result i32)
                (global.set $state (call $heap (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 16)))
                (call $now (global.get $state)) (i32.load (global.get $state)))
            (func (export "cabi_import_realloc") (param i32 i32 i32 i32) (result i32) global.get $state))"#,
    ];

    #[test]
    fn a_guest_and_its_adapter_are_one_valid_module_that_imports_what_is_others() {
        let [guest, adapter] = PARTS.map(|text| wat::parse_str(text).expect("the text"));
        let merged = merge(&guest, &adapter).expect("both");
        Validator::new_with_features(WasmFeatures::default()).validate_all(&merged).expect("valid");
        let module = Module::parse(&merged).expect("a module");
        let imports: Vec<_> = module.imported_functions().iter().map(|import| (import.0, import.1)).collect();
        assert_eq!(imports, [("tools", "call"), ("clocks", "now")]);
        let exports: Vec<_> = module.exports.iter().map(|export| export.name).collect();
        assert_eq!(exports, ["memory", REALLOC, "run", IMPORT_REALLOC]);
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
