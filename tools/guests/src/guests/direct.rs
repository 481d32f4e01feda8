//! Has the main module of a component call its imports through a table of its own.
//!
//! What a component imports needs the memory of the module that calls it, and that module needs its imports before it has one.
//! So `wit-component` puts a shim between them: its functions call through a table that a third module fills when all others
//! are there. Each new instance then has one module more, and each such import is wired twice. Here the table and its
//! functions are the main module's, and the shim is gone.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail, ensure};
use wasm_encoder::reencode::{self, Reencode, ReencodeComponent, RoundtripReencoder};
use wasm_encoder::{
    Component, ComponentAliasSection, ComponentSectionId, ExportKind, Function, InstanceSection, RawSection,
    TableType,
};
use wasmparser::{
    CanonicalFunction, Chunk, ComponentAlias, ComponentAliasSectionReader, CustomSectionReader, ExternalKind,
    FuncType, InstanceSectionReader, KnownCustom, Parser, Payload,
};

use super::core_module::{Added, Module, Numbers, write};

/// The table of imports, as `wit-component` calls it.
const TABLE: &str = "$imports";

/// The imports that are called through the table, by module and name, and their places in it.
type Places<'a> = BTreeMap<(&'a str, &'a str), u32>;

/// The same component without the shim.
pub(crate) fn direct(component: &[u8]) -> Result<Vec<u8>> {
    let found = Found::look(component)?;
    let Some(shim) = found.shim()? else { return Ok(component.to_vec()) };
    let main = found.main(&shim)?;
    let mut kept = 0..;
    let functions =
        found.functions.iter().map(|place| if place.is_some() { None } else { kept.next() }).collect();
    let mut rewriting = Rewriting {
        main_module: through_table(found.modules[main.module as usize], &main.places, shim.table)?,
        main,
        shim,
        functions,
        modules: 0,
        instances: 0,
    };
    let mut written = Component::new();
    rewriting.parse_component(&mut written, Parser::new(0), component).map_err(|error| anyhow!("{error}"))?;
    Ok(written.finish())
}

/// A module of a component that is made an instance with other instances as its imports, or names for functions of others.
enum Instance<'a> {
    Of { module: u32, imports: Vec<(&'a str, u32)> },
    Names(Vec<wasmparser::Export<'a>>),
}

/// The core modules, instances and functions of a component.
#[derive(Default)]
struct Found<'a> {
    modules: Vec<&'a [u8]>,
    instances: Vec<Instance<'a>>,
    /// For each function of the shim, its place in the table.
    functions: Vec<Option<u32>>,
    /// The instance that has the table: the first that needs no other.
    first: Option<u32>,
}

/// The shim, its instance, and its table.
struct Shim {
    module: u32,
    instance: u32,
    table: TableType,
}

/// The module that imports it, its instance, and what it imports of it.
struct Main<'a> {
    module: u32,
    instance: u32,
    places: Places<'a>,
}

impl<'a> Found<'a> {
    fn look(component: &'a [u8]) -> Result<Self> {
        let (mut found, mut parser, mut rest) = (Self::default(), Parser::new(0), component);
        while !rest.is_empty() {
            let Chunk::Parsed { consumed, payload } = parser.parse(rest, true)? else {
                bail!("a cut component")
            };
            rest = &rest[consumed..];
            match payload {
                Payload::ModuleSection { unchecked_range, .. } => {
                    found.modules.push(&component[unchecked_range.clone()]);
                    rest = &rest[unchecked_range.len()..];
                }
                Payload::ComponentSection { unchecked_range, .. } => rest = &rest[unchecked_range.len()..],
                Payload::InstanceSection(section) => found.note_instances(section)?,
                Payload::ComponentAliasSection(section) => {
                    for alias in section {
                        let ComponentAlias::CoreInstanceExport {
                            kind: ExternalKind::Func,
                            instance_index,
                            name,
                        } = alias?
                        else {
                            continue;
                        };
                        let is_first = found.first == Some(instance_index);
                        found.functions.push(is_first.then(|| name.parse()).transpose()?);
                    }
                }
                Payload::ComponentCanonicalSection(section) => {
                    for function in section {
                        if !matches!(function?, CanonicalFunction::Lift { .. }) {
                            found.functions.push(None);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn note_instances(&mut self, section: InstanceSectionReader<'a>) -> Result<()> {
        for instance in section {
            self.instances.push(match instance? {
                wasmparser::Instance::FromExports(names) => Instance::Names(names.to_vec()),
                wasmparser::Instance::Instantiate { module_index, args } => {
                    if args.is_empty() && self.first.is_none() {
                        self.first = Some(u32::try_from(self.instances.len())?);
                    }
                    let imports = args.iter().map(|argument| (argument.name, argument.index)).collect();
                    Instance::Of { module: module_index, imports }
                }
            });
        }
        Ok(())
    }

    fn shim(&self) -> Result<Option<Shim>> {
        let Some(instance) = self.first else { return Ok(None) };
        let Some(Instance::Of { module, .. }) = self.instances.get(instance as usize) else {
            return Ok(None);
        };
        let shim = Module::parse(self.modules.get(*module as usize).context("an instance of no module")?)?;
        if shim.exported(TABLE, ExternalKind::Table).is_none() {
            return Ok(None);
        }
        let table = shim.tables.into_iter().flatten().next().context("no table")??;
        Ok(Some(Shim { module: *module, instance, table: RoundtripReencoder.table_type(table.ty)? }))
    }

    fn main(&self, shim: &Shim) -> Result<Main<'a>> {
        for (instance, of) in (0..).zip(&self.instances) {
            let Instance::Of { module, imports } = of else { continue };
            let mut places = Places::new();
            for (name, from) in imports {
                let Some(Instance::Names(names)) = self.instances.get(*from as usize) else { continue };
                let functions = names.iter().filter(|export| export.kind == ExternalKind::Func);
                places.extend(functions.filter_map(|export| {
                    let place = *self.functions.get(export.index as usize)?;
                    Some(((*name, export.name), place?))
                }));
            }
            if !places.is_empty() {
                let count = self.functions.iter().flatten().count();
                ensure!(places.len() == count, "more than one module imports the shim");
                ensure!(instance > shim.instance, "an instance that comes before its imports");
                return Ok(Main { module: *module, instance, places });
            }
        }
        bail!("no module imports the shim")
    }
}

/// The module with a table of its own, and a function for each import that calls it through that. Functions stand in this order:
/// the imports that stay, the module's own, those that call through the table.
fn through_table(module: &[u8], places: &Places<'_>, table: TableType) -> Result<Vec<u8>> {
    let module = Module::parse(module)?;
    let (of_module, types) = (module.imported_functions(), module.function_types()?);
    ensure!(of_module.len() == module.imports.len(), "the guest imports more than functions");
    let own_tables = module.tables.as_ref().map_or(0, wasmparser::SectionLimited::count);
    let place_of = |import: &(&str, &str, u32)| places.get(&(import.0, import.1)).copied();
    let stays = of_module.iter().filter(|import| place_of(import).is_none());
    let first_own = u32::try_from(stays.clone().count())?;
    let first_call = first_own + u32::try_from(module.bodies.len())?;

    let (mut kept, mut calls) = (0.., first_call..);
    let number = |import| if place_of(import).is_some() { calls.next() } else { kept.next() };
    let mut functions: Vec<u32> = of_module
        .iter()
        .map(number)
        .collect::<Option<_>>()
        .context("more functions than a module may have")?;
    functions.extend(first_own..first_call);
    let call = |import: &(&str, &str, u32)| {
        let place = place_of(import)?;
        Some((import.2, caller(&types[import.2 as usize], (place, import.2, own_tables))))
    };
    let added = Added {
        imports: stays.copied().collect(),
        functions: of_module.iter().filter_map(call).collect(),
        tables: vec![table],
        exports: vec![(TABLE, ExportKind::Table, own_tables)],
        customs: module.customs.clone(),
        ..Added::default()
    };
    write(&mut [(&module, Numbers { functions, first_type: 0, first_global: 0 })], &added)
}

/// Calls what stands in a place of the table.
fn caller(kind: &FuncType, (place, type_index, table_index): (u32, u32, u32)) -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    for argument in (0..).take(kind.params().len()) {
        code.local_get(argument);
    }
    code.i32_const(place.cast_signed()).call_indirect(table_index, type_index).end();
    function
}

/// Writes a component anew without the shim.
struct Rewriting<'a> {
    shim: Shim,
    main: Main<'a>,
    main_module: Vec<u8>,
    /// What the number of each core function becomes; none for those of the shim.
    functions: Vec<Option<u32>>,
    /// Modules and instances so far.
    modules: u32,
    instances: u32,
}

type Answer<T> = Result<T, reencode::Error<anyhow::Error>>;

impl Reencode for Rewriting<'_> {
    type Error = anyhow::Error;

    fn function_index(&mut self, function: u32) -> Answer<u32> {
        let number = self.functions.get(function as usize).copied().flatten();
        number.ok_or_else(|| reencode::Error::UserError(anyhow!("a function of the shim is used elsewhere")))
    }
}

impl ReencodeComponent for Rewriting<'_> {
    fn module_index(&mut self, module: u32) -> u32 {
        module - u32::from(module > self.shim.module)
    }

    /// The table that was the other's is the main one's.
    fn instance_index(&mut self, instance: u32) -> u32 {
        let instance = if instance == self.shim.instance { self.main.instance } else { instance };
        instance - u32::from(instance > self.shim.instance)
    }

    fn parse_component_submodule(
        &mut self,
        component: &mut Component,
        _: Parser,
        module: &[u8],
    ) -> Answer<()> {
        let number = self.modules;
        self.modules += 1;
        let id = ComponentSectionId::CoreModule.into();
        if number == self.main.module {
            component.section(&RawSection { id, data: &self.main_module });
        } else if number != self.shim.module {
            component.section(&RawSection { id, data: module });
        }
        Ok(())
    }

    /// A component in it has numbers of its own.
    fn parse_component_subcomponent(
        &mut self,
        component: &mut Component,
        _: Parser,
        inner: &[u8],
        _: &[u8],
    ) -> Answer<()> {
        component.section(&RawSection { id: ComponentSectionId::Component.into(), data: inner });
        Ok(())
    }

    fn parse_component_alias_section(
        &mut self,
        aliases: &mut ComponentAliasSection,
        section: ComponentAliasSectionReader<'_>,
    ) -> Answer<()> {
        for alias in section {
            let alias = alias?;
            let is_dropped = matches!(
                alias,
                ComponentAlias::CoreInstanceExport { kind: ExternalKind::Func, instance_index, .. }
                    if instance_index == self.shim.instance
            );
            if !is_dropped {
                aliases.alias(self.component_alias(alias)?);
            }
        }
        Ok(())
    }

    fn parse_instance_section(
        &mut self,
        instances: &mut InstanceSection,
        section: InstanceSectionReader<'_>,
    ) -> Answer<()> {
        for instance in section {
            let number = self.instances;
            self.instances += 1;
            if number == self.shim.instance {
                continue;
            }
            match instance? {
                wasmparser::Instance::FromExports(names) => {
                    let is_there = |export: &&wasmparser::Export<'_>| {
                        export.kind != ExternalKind::Func || self.functions[export.index as usize].is_some()
                    };
                    let names: Vec<_> = names.iter().filter(is_there).copied().collect();
                    self.parse_instance(instances, wasmparser::Instance::FromExports(names.into()))?;
                }
                of => self.parse_instance(instances, of)?,
            }
        }
        Ok(())
    }

    /// Names of things by their numbers of before are left out.
    fn parse_component_custom_section(
        &mut self,
        component: &mut Component,
        section: CustomSectionReader<'_>,
    ) -> Answer<()> {
        if !matches!(section.as_known(), KnownCustom::ComponentName(_)) {
            component.section(&self.custom_section(section)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Validator, WasmFeatures};

    use super::*;

    /// As `wit-component` writes it: a main module, a shim, and a module that fills the table.
    const COMPONENT: &str = r#"(component
        (import "say" (func $say (param "text" string)))
        (import "tick" (func $tick))
        (core module $main
            (import "host" "tick" (func $tick))
            (import "host" "say" (func $say (param i32 i32)))
            (memory (export "memory") 1) (table 1 funcref) (elem (i32.const 0) func $say)
            (func (export "run") call $tick i32.const 0 i32.const 1 call $say))
        (core module $shim
            (table (export "$imports") 1 1 funcref)
            (func (export "0") (param i32 i32)
                local.get 0 local.get 1 i32.const 0 call_indirect (param i32 i32)))
        (core module $filling
            (import "" "$imports" (table 1 1 funcref)) (import "" "0" (func $lowered (param i32 i32)))
            (elem (i32.const 0) func $lowered))
        (core instance $first (instantiate $shim))
        (core func $ticks (canon lower (func $tick)))
        (alias core export $first "0" (core func $zero))
        (core instance $names (export "say" (func $zero)) (export "tick" (func $ticks)))
        (core instance $it (instantiate $main (with "host" (instance $names))))
        (alias core export $it "memory" (core memory $memory))
        (alias core export $first "$imports" (core table $table))
        (core func $lowered (canon lower (func $say) (memory $memory)))
        (core instance $all (export "$imports" (table $table)) (export "0" (func $lowered)))
        (core instance (instantiate $filling (with "" (instance $all))))
        (alias core export $it "run" (core func $run))
        (func (export "run") (canon lift (core func $run))))"#;

    #[test]
    fn the_shim_is_gone_and_the_main_one_has_its_table() {
        let written = direct(&wat::parse_str(COMPONENT).expect("the text")).expect("rewritten");
        Validator::new_with_features(WasmFeatures::all()).validate_all(&written).expect("valid");
        let found = Found::look(&written).expect("a component");
        assert_eq!((found.modules.len(), found.instances.len()), (2, 4));
        let main = Module::parse(found.modules[0]).expect("a module");
        let imports: Vec<_> = main.imported_functions().iter().map(|import| import.1).collect();
        assert_eq!(imports, ["tick"]);
        assert_eq!(main.exported(TABLE, ExternalKind::Table), Some(1));
        // What is direct already stays as it is.
        assert_eq!(direct(&written).expect("again"), written);
    }

    #[test]
    fn a_shim_that_nobody_imports_is_refused() {
        let alone = COMPONENT.replace(
            r#"(core instance $names (export "say" (func $zero))"#,
            r#"(core module $other (import "host" "tick" (func)) (func (export "say") (param i32 i32)))
            (core instance $ticking (export "tick" (func $ticks)))
            (core instance $of_other (instantiate $other (with "host" (instance $ticking))))
            (alias core export $of_other "say" (core func $say_it))
            (core instance $names (export "say" (func $say_it))"#,
        );
        let component = wat::parse_str(alone).expect("the text");
        let told = direct(&component).expect_err("refused").to_string();
        assert_eq!(told, "no module imports the shim");
    }
}
