//! Exceptions show the lines of the source, and not what was made of them.

use std::collections::VecDeque;

use dormouse_core::{Outcome, Status};

/// Characters of a line that is shown.
const MAX_EXCERPT: usize = 200;
/// What is kept of earlier snippets, whose functions raise as well: how many, and bytes of them.
const MAX_SOURCES: usize = 64;
const MAX_BYTES: usize = 256 << 10;

/// Snippets of TypeScript that an interpreter has run, the latest first: each as it was written, and as it was compiled.
#[derive(Default)]
pub(crate) struct Sources {
    latest: VecDeque<(String, String)>,
    bytes: usize,
}

impl Sources {
    /// Adds a snippet that is run.
    pub(crate) fn add(&mut self, source: String, code: &str) {
        self.bytes += source.len() + code.len();
        self.latest.push_front((source, code.to_owned()));
        while self.latest.len() > MAX_SOURCES || (self.bytes > MAX_BYTES && self.latest.len() > 1) {
            let Some((source, code)) = self.latest.pop_back() else { break };
            self.bytes -= source.len() + code.len();
        }
    }

    /// Lets an exception show the line of the source that it was raised in. `own` is the JavaScript of the run, if it was
    /// written so.
    pub(crate) fn show(&self, own: Option<&str>, outcome: &mut Outcome) {
        let Status::Raised(exception) = &mut outcome.status else { return };
        let (Some(line), Some(excerpt)) = (exception.line, &exception.excerpt) else { return };
        let Some(before) = usize::try_from(line).ok().and_then(|line| line.checked_sub(1)) else { return };
        let is_here =
            |code: &str| code.split('\n').nth(before).is_some_and(|made| made.starts_with(excerpt.as_str()));
        if own.is_some_and(is_here) {
            return;
        }
        if let Some((source, _)) = self.latest.iter().find(|(_, code)| is_here(code)) {
            let line = source.split('\n').nth(before);
            exception.excerpt = line.map(|line| line.trim_end().chars().take(MAX_EXCERPT).collect());
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::{Exception, Usage};

    use super::*;

    fn shown(sources: &Sources, own: Option<&str>, line: u32, excerpt: &str) -> String {
        let exception = Exception {
            class: "Error".into(),
            message: String::new(),
            code: None,
            file: None,
            line: Some(line),
            column: None,
            stack_trace: Vec::new(),
            excerpt: Some(excerpt.into()),
            traceback: None,
            hint: None,
            previous: Vec::new(),
        };
        let mut outcome = super::super::ended(Status::Raised(exception), Usage::default());
        sources.show(own, &mut outcome);
        match outcome.status {
            Status::Raised(exception) => exception.excerpt.unwrap_or_default(),
            _ => String::new(),
        }
    }

    #[test]
    fn an_exception_shows_the_line_of_the_source() {
        let mut sources = Sources::default();
        sources.add("let old: any = e".into(), "let old      = e");
        sources.add("a\nconst b: number = c".into(), "a\nconst b         = c");
        assert_eq!(shown(&sources, None, 2, "const b         = c"), "const b: number = c");
        // Of an earlier snippet; of none; without a line.
        assert_eq!(shown(&sources, None, 1, "let old      = e"), "let old: any = e");
        assert_eq!(shown(&sources, None, 2, "const d = c"), "const d = c");
        assert_eq!(shown(&sources, None, 0, "a"), "a");
        assert_eq!(shown(&sources, None, u32::MAX, "a"), "a");
        // A run of JavaScript shows its own.
        assert_eq!(shown(&sources, Some("let old      = e"), 1, "let old      = e"), "let old      = e");
    }

    #[test]
    fn what_is_kept_of_earlier_snippets_is_bounded() {
        let mut sources = Sources::default();
        for n in 0..2 * MAX_SOURCES {
            sources.add(n.to_string(), "x");
        }
        assert_eq!(sources.latest.len(), MAX_SOURCES);
        sources.add("y".repeat(MAX_BYTES), "y");
        assert_eq!((sources.latest.len(), sources.bytes), (1, MAX_BYTES + 1));
    }
}
