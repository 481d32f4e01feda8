//! Modules of preview1 become components, by way of the adapter.
//!
//! The adapter knows success and failure only, so `proc_exit` goes past it: its import is renamed, and a second adapter of
//! a few instructions hands the status to `wasi:cli/exit`'s `exit-with-code`.

use std::sync::LazyLock;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wasm_encoder::reencode::{Error as ReencodeError, Reencode};
use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, Module,
    TypeSection, ValType,
};
use wasmparser::Parser;
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::Resolve;

/// The function that preview1 ends a program with.
const PROC_EXIT: &str = "proc_exit";
/// What the import of [`PROC_EXIT`] is renamed to: the name of the second adapter.
const EXIT_ADAPTER: &str = "dormouse_exit";
/// The interface that the second adapter imports, in the version that the first one uses.
const EXIT: &str = "wasi:cli/exit@0.2.12";
/// That interface's text.
const EXIT_WIT: &str = include_str!("exit.wit");

static ADAPTER: LazyLock<Result<Vec<u8>, String>> = LazyLock::new(exit_adapter);

/// The module as a `wasi:cli` command.
///
/// # Errors
/// A sentence about what the module lacks, or imports.
pub(crate) fn adapt(module: &[u8]) -> Result<Vec<u8>, String> {
    let module = rename(module)?;
    let exit = ADAPTER.as_ref().map_err(Clone::clone)?;
    ComponentEncoder::default()
        .module(&module)
        .and_then(|encoder| encoder.adapter(PREVIEW1, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER))
        .and_then(|encoder| encoder.adapter(EXIT_ADAPTER, exit))
        .and_then(|encoder| encoder.validate(true).encode())
        .map_err(|error| format!("{error:#}"))
}

/// The module, with `proc_exit` imported from the second adapter.
fn rename(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut renamed = Module::new();
    Rename.parse_core_module(&mut renamed, Parser::new(0), module).map_err(|error| error.to_string())?;
    Ok(renamed.finish())
}

struct Rename;

impl Reencode for Rename {
    type Error = std::convert::Infallible;

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Result<(), ReencodeError<Self::Error>> {
        for import in section.into_imports() {
            let import = import?;
            let module = match (import.module, import.name) {
                (PREVIEW1, PROC_EXIT) => EXIT_ADAPTER,
                (module, _) => module,
            };
            imports.import(module, import.name, self.entity_type(import.ty)?);
        }
        Ok(())
    }
}

/// A core module that exports `proc_exit` and imports `exit-with-code`. Of the status, the lowest eight bits count, as
/// everywhere.
fn exit_adapter() -> Result<Vec<u8>, String> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], []);
    let mut imports = ImportSection::new();
    imports.import(EXIT, "exit-with-code", EntityType::Function(0));
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export(PROC_EXIT, ExportKind::Func, 1);
    let mut body = Function::new([]);
    body.instructions().local_get(0).i32_const(0xff).i32_and().call(0).unreachable().end();
    let mut code = CodeSection::new();
    code.function(&body);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    let mut module = module.finish();

    let mut resolve = Resolve::default();
    resolve
        .push_str("exit.wit", EXIT_WIT)
        .and_then(|package| resolve.select_world(&[package], None))
        .and_then(|world| {
            wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        })
        .map_err(|error| format!("{error:#}"))?;
    Ok(module)
}
