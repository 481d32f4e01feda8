//! Saving, restoring and forking a small live session: informative, no goal yet.

use std::time::Instant;

use anyhow::Result;
use dormouse::wasm::{SavedInterpreter, Session, Settings, WasmProvider};
use dormouse::{EvalRequest, Language};

use crate::bench::{Bench, LANGUAGES, check, milliseconds};
use crate::table::Row;
use crate::turns::{Turn, take_turns};

/// Forks made of one checkpoint in one turn.
const FORKS: u32 = 10;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for language in LANGUAGES.into_iter().filter(|language| bench.begins(&format!("state-{language}"))) {
        rows.extend(state(bench, language)?);
    }
    Ok(rows)
}

/// A session with a few hundred kilobytes of its own.
async fn session(provider: &WasmProvider, language: &str) -> Result<Session> {
    let mut session = provider.session(&Language::parse(language)?).await?;
    let code = match language {
        "python" => "rows = [{'id': i, 'name': str(i)} for i in range(1000)]\nlen(rows)",
        "php" => {
            "$rows = array_map(fn($id) => ['id' => $id, 'name' => (string)$id], range(0, 999)); count($rows)"
        }
        _ => "var rows = Array.from({ length: 1000 }, (_, id) => ({ id, name: String(id) })); rows.length",
    };
    evaluate(provider, &mut session, language, code).await?;
    Ok(session)
}

async fn evaluate(provider: &WasmProvider, session: &mut Session, language: &str, code: &str) -> Result<()> {
    let request = EvalRequest::new(Language::parse(language)?, code);
    check(&provider.continue_session(session, &request).await?, 1000)
}

fn state(bench: &Bench, language: &'static str) -> Result<[Row; 3]> {
    let provider = WasmProvider::new(Settings::new()?)?;
    let size = std::cell::Cell::new((0, 0));
    let save: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let mut session = session(&provider, language).await?;
            let begin = Instant::now();
            let checkpoint = provider.checkpoint(&mut session).await?;
            let bytes = checkpoint.to_bytes();
            let ms = milliseconds(begin.elapsed());
            size.set((checkpoint.pages(), bytes.len() >> 10));
            Ok(vec![ms])
        })
    });
    let restore: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let bytes = provider.checkpoint(&mut session(&provider, language).await?).await?.to_bytes();
            let begin = Instant::now();
            let mut restored = provider.restore(&SavedInterpreter::from_bytes(&bytes)?).await?;
            evaluate(&provider, &mut restored, language, length(language)).await?;
            Ok(vec![milliseconds(begin.elapsed())])
        })
    });
    let fork: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let mut origin = session(&provider, language).await?;
            let begin = Instant::now();
            let checkpoint = provider.checkpoint(&mut origin).await?;
            let mut forks = Vec::new();
            for _ in 0..FORKS {
                forks.push(provider.restore(&checkpoint).await?);
            }
            Ok(vec![milliseconds(begin.elapsed()) / f64::from(FORKS)])
        })
    });
    let [save, restore, fork] = take_turns(bench.rounds, [save, restore, fork]);
    let (pages, kib) = size.get();
    let id = |verb: &str| format!("state-{language}-{verb}");
    Ok([
        Row::new(
            id("checkpoint"),
            format!("checkpoint of a {language} session to bytes ({pages} pages, {kib} KiB)"),
            "ms",
            save,
        ),
        Row::new(id("restore"), format!("restore of that {language} session and one call"), "ms", restore),
        Row::new(id("fork"), format!("fork of that {language} session, each of {FORKS}"), "ms", fork),
    ])
}

fn length(language: &str) -> &'static str {
    match language {
        "python" => "len(rows)",
        "php" => "count($rows)",
        _ => "rows.length",
    }
}
