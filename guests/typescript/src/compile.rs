//! What is more than types is compiled: enums, namespaces, parameter properties, `import x = require()`.

use swc_common::errors::HANDLER;
use swc_common::sync::Lrc;
use swc_common::{FileName, Mark, SourceMap};
use swc_ecma_ast::{EsVersion, Pass, Program};
use swc_ecma_codegen::{Config, Emitter};
use swc_ecma_parser::lexer::Lexer;
use swc_ecma_parser::{Parser, StringInput, Syntax, TsSyntax};
use swc_ecma_transforms_base::fixer::fixer;
use swc_ecma_transforms_base::helpers::{HELPERS, Helpers, inject_helpers};
use swc_ecma_transforms_base::hygiene::hygiene;
use swc_ecma_transforms_base::resolver;
use swc_ecma_transforms_typescript::typescript::{self, ImportsNotUsedAsValues, typescript};

use crate::place::Placed;
use crate::refusal::{Diagnostics, Refusal};

pub(crate) fn compile(source: &str) -> Result<String, Refusal> {
    let map: Lrc<SourceMap> = Lrc::default();
    let diagnostics = Diagnostics::new(&map);
    let mut program = parse(&map, &diagnostics, source)?;
    HANDLER.set(&diagnostics.handler, || HELPERS.set(&Helpers::new(false), || transform(&mut program)));
    if diagnostics.handler.has_errors() {
        return Err(diagnostics.first("the source cannot be compiled"));
    }
    let mut writer = Placed::new(source);
    let mut emitter = Emitter { cfg: Config::default(), cm: map, comments: None, wr: &mut writer };
    let emitted = emitter.emit_program(&program);
    // The instance ends with this call.
    std::mem::forget(program);
    match emitted {
        Ok(()) => Ok(writer.into_code()),
        Err(error) => Err(Refusal { message: format!("the source cannot be written: {error}"), place: None }),
    }
}

fn parse(map: &Lrc<SourceMap>, diagnostics: &Diagnostics, source: &str) -> Result<Program, Refusal> {
    let file = map.new_source_file(FileName::Anon.into(), source.to_owned());
    let syntax = Syntax::Typescript(TsSyntax::default());
    let lexer = Lexer::new(syntax, EsVersion::latest(), StringInput::from(&*file), None);
    let mut parser = Parser::new_from(lexer);
    let parsed = parser.parse_program();
    for error in parser.take_errors() {
        error.into_diagnostic(&diagnostics.handler).emit();
    }
    let program = parsed.map_err(|error| error.into_diagnostic(&diagnostics.handler).emit());
    match program {
        Ok(program) if !diagnostics.handler.has_errors() => Ok(program),
        _ => Err(diagnostics.first("the source is no TypeScript")),
    }
}

fn transform(program: &mut Program) {
    let (unresolved, top_level) = (Mark::new(), Mark::new());
    let config = typescript::Config {
        // What is not marked as a type stays, as it does where types are blanked out.
        verbatim_module_syntax: true,
        import_not_used_as_values: ImportsNotUsedAsValues::Preserve,
        native_class_properties: true,
        no_empty_export: true,
        // Members are looked up, because a later snippet of a sandbox sees the object and no inlined number.
        ts_enum_is_mutable: true,
        ..typescript::Config::default()
    };
    resolver(unresolved, top_level, true).process(program);
    typescript(config, unresolved, top_level).process(program);
    inject_helpers(unresolved).process(program);
    hygiene().process(program);
    fixer(None).process(program);
}
