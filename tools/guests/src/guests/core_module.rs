//! The sections of a core module, and how several modules are written as one with something added.

use anyhow::{Context, Result, bail, ensure};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataCountSection, DataSection, ElementSection, EntityType,
    ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType, ImportSection,
    MemorySection, StartSection, TableSection, TableType, TagSection, TypeSection, ValType,
};
use wasmparser::{
    DataSectionReader, ElementSectionReader, Export, ExternalKind, FuncType, FunctionBody,
    FunctionSectionReader, GlobalSectionReader, Import, MemorySectionReader, Parser, Payload,
    TableSectionReader, TagSectionReader, TypeRef, TypeSectionReader,
};

/// The sections of a module.
#[derive(Default)]
pub(crate) struct Module<'a> {
    types: Option<TypeSectionReader<'a>>,
    pub(crate) imports: Vec<Import<'a>>,
    functions: Option<FunctionSectionReader<'a>>,
    pub(crate) tables: Option<TableSectionReader<'a>>,
    memories: Option<MemorySectionReader<'a>>,
    tags: Option<TagSectionReader<'a>>,
    pub(crate) globals: Option<GlobalSectionReader<'a>>,
    pub(crate) exports: Vec<Export<'a>>,
    start: Option<u32>,
    elements: Option<ElementSectionReader<'a>>,
    data_count: Option<u32>,
    pub(crate) bodies: Vec<FunctionBody<'a>>,
    data: Option<DataSectionReader<'a>>,
    pub(crate) customs: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Module<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self> {
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

    /// The number of what is exported by that name.
    pub(crate) fn exported(&self, name: &str, kind: ExternalKind) -> Option<u32> {
        let is_it = |export: &&Export<'_>| export.name == name && export.kind == kind;
        self.exports.iter().find(is_it).map(|export| export.index)
    }

    /// The place of an exported function among the module's own, which are counted from behind its imports.
    pub(crate) fn place_of(&self, name: &str) -> Option<u32> {
        let imported = u32::try_from(self.imported_functions().len()).ok()?;
        self.exported(name, ExternalKind::Func)?.checked_sub(imported)
    }

    /// The types of functions; a guest has no others.
    pub(crate) fn function_types(&self) -> Result<Vec<FuncType>> {
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
    pub(crate) fn imported_functions(&self) -> Vec<(&'a str, &'a str, u32)> {
        let function = |import: &Import<'a>| match import.ty {
            TypeRef::Func(kind) => Some((import.module, import.name, kind)),
            _ => None,
        };
        self.imports.iter().filter_map(function).collect()
    }

    /// Whether it has a memory, tables, data or a start function.
    pub(crate) fn has_state(&self) -> bool {
        self.tables.is_some()
            || self.memories.is_some()
            || self.tags.is_some()
            || self.start.is_some()
            || self.elements.is_some()
            || self.data.is_some()
    }
}

/// The numbers that a module's own become in the one that is written.
pub(crate) struct Numbers {
    pub(crate) functions: Vec<u32>,
    pub(crate) first_type: u32,
    pub(crate) first_global: u32,
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

/// What stands behind that of the modules; all numbers are those of the written module.
#[derive(Default)]
pub(crate) struct Added<'a> {
    /// Parameters and results.
    pub(crate) types: Vec<(Vec<ValType>, Vec<ValType>)>,
    /// All that it imports: module, name, type.
    pub(crate) imports: Vec<(&'a str, &'a str, u32)>,
    /// Each with its type.
    pub(crate) functions: Vec<(u32, Function)>,
    pub(crate) tables: Vec<TableType>,
    pub(crate) globals: Vec<(GlobalType, ConstExpr)>,
    pub(crate) exports: Vec<(&'a str, ExportKind, u32)>,
    pub(crate) customs: Vec<(&'a str, &'a [u8])>,
}

/// Writes modules as one. What only one can have, exports, a memory, tables and data, is the first one's.
pub(crate) fn write(parts: &mut [(&Module<'_>, Numbers)], added: &Added<'_>) -> Result<Vec<u8>> {
    let (first, others) = parts.split_first().context("no module")?;
    let first = first.0;
    ensure!(
        !others.iter().any(|(module, _)| module.has_state()),
        "a second module has more than functions and globals"
    );
    let mut written = wasm_encoder::Module::new();

    let mut types = TypeSection::new();
    for (module, numbers) in &mut *parts {
        numbers.parse_type_section(&mut types, module.types.clone().context("a module without types")?)?;
    }
    for (parameters, results) in &added.types {
        types.ty().function(parameters.iter().copied(), results.iter().copied());
    }
    written.section(&types);

    let mut imports = ImportSection::new();
    for (module, name, kind) in &added.imports {
        imports.import(module, name, EntityType::Function(*kind));
    }
    written.section(&imports);

    let mut functions = FunctionSection::new();
    for (module, numbers) in &mut *parts {
        let section = module.functions.clone().context("a module without functions")?;
        numbers.parse_function_section(&mut functions, section)?;
    }
    for (kind, _) in &added.functions {
        functions.function(*kind);
    }
    written.section(&functions);

    let mut tables = TableSection::new();
    if let Some(section) = first.tables.clone() {
        parts[0].1.parse_table_section(&mut tables, section)?;
    }
    for table in &added.tables {
        tables.table(*table);
    }
    if !tables.is_empty() {
        written.section(&tables);
    }
    let mut memories = MemorySection::new();
    let section = first.memories.clone().context("the guest has no memory")?;
    parts[0].1.parse_memory_section(&mut memories, section)?;
    written.section(&memories);
    if let Some(section) = first.tags.clone() {
        let mut tags = TagSection::new();
        parts[0].1.parse_tag_section(&mut tags, section)?;
        written.section(&tags);
    }

    let mut globals = GlobalSection::new();
    for (module, numbers) in &mut *parts {
        if let Some(section) = module.globals.clone() {
            numbers.parse_global_section(&mut globals, section)?;
        }
    }
    for (kind, value) in &added.globals {
        globals.global(*kind, value);
    }
    written.section(&globals);
    write_rest(parts, added, &mut written)?;
    for (name, data) in &added.customs {
        written.section(&CustomSection { name: (*name).into(), data: (*data).into() });
    }
    Ok(written.finish())
}

/// The sections from the exports on.
fn write_rest(
    parts: &mut [(&Module<'_>, Numbers)],
    added: &Added<'_>,
    written: &mut wasm_encoder::Module,
) -> Result<()> {
    let (first, numbers) = &mut parts[0];
    let mut exports = ExportSection::new();
    for export in &first.exports {
        numbers.parse_export(&mut exports, *export)?;
    }
    for (name, kind, index) in &added.exports {
        exports.export(name, *kind, *index);
    }
    written.section(&exports);
    if let Some(function) = first.start {
        written.section(&StartSection { function_index: numbers.function_index(function)? });
    }
    if let Some(section) = first.elements.clone() {
        let mut elements = ElementSection::new();
        numbers.parse_element_section(&mut elements, section)?;
        written.section(&elements);
    }
    if let Some(count) = first.data_count {
        written.section(&DataCountSection { count });
    }
    let data = first.data.clone();

    let mut code = CodeSection::new();
    for (module, numbers) in &mut *parts {
        for body in &module.bodies {
            numbers.parse_function_body(&mut code, body.clone())?;
        }
    }
    for (_, function) in &added.functions {
        code.function(function);
    }
    written.section(&code);
    if let Some(section) = data {
        let mut data = DataSection::new();
        parts[0].1.parse_data_section(&mut data, section)?;
        written.section(&data);
    }
    Ok(())
}
