//! An exception as people read it: what, where in the source, how it came there, and why.

use dormouse::Exception;

use super::escape;
use super::excerpt;
use super::paint::{DIM, ERROR, HINT, Paint};
use crate::words;

/// The source that ran.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The name that traces show.
    pub(crate) name: &'a str,
    /// The text.
    pub(crate) text: &'a str,
}

/// The whole exception with its causes; ends with a newline.
pub(crate) fn exception(exception: &Exception, source: Source<'_>, paint: Paint) -> String {
    let mut text = one(exception, source, paint);
    for cause in &exception.previous {
        text += &paint.style(DIM, "caused by: ");
        text += &one(cause, source, paint);
    }
    if let Some(hint) = &exception.hint {
        let hint = escape::line(&words::in_commands(hint));
        text += &format!("{} {hint}\n", paint.style(HINT, "hint:"));
    }
    text
}

fn one(exception: &Exception, source: Source<'_>, paint: Paint) -> String {
    let class = paint.style(ERROR, &escape::line(&exception.class));
    let mut text = match exception.message.as_str() {
        "" => format!("{class}\n"),
        message => format!("{class}: {}\n", escape::text(message)),
    };
    if let Some(code) = &exception.code {
        let code = escape::line(&serde_json::to_string(code).unwrap_or_default());
        text += &format!("{}\n", paint.style(DIM, &format!("  code: {code}")));
    }
    if let Some(place) = place(exception) {
        text += &format!("{} {place}\n", paint.style(DIM, "  at"));
    }
    let own = exception.file.as_deref() == Some(source.name);
    let drawn = exception
        .line
        .filter(|_| own)
        .and_then(|line| excerpt::of_source(source.text, line, exception.column, paint))
        .or_else(|| {
            let line = exception.excerpt.as_ref()?;
            Some(excerpt::of_line(line, exception.line, exception.column, paint))
        });
    text += &drawn.unwrap_or_default();
    // A single frame says no more than the place above.
    if exception.stack_trace.len() > 1 {
        for frame in &exception.stack_trace {
            text += &format!("{} {}\n", paint.style(DIM, "  in"), escape::line(frame));
        }
    }
    text
}

/// `file:line:column`, as far as it is known.
fn place(exception: &Exception) -> Option<String> {
    let mut place = escape::line(exception.file.as_ref()?);
    if let Some(line) = exception.line {
        place += &format!(":{line}");
        if let Some(column) = exception.column {
            place += &format!(":{column}");
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use dormouse::Bounds;

    use super::*;

    #[test]
    fn an_exception_shows_its_place_frames_and_causes() {
        let json = r#"{"class":"ValueError","message":"no\u001b[0m","file":"<s>","line":2,"column":3,
            "stack_trace":["f (<s>:2)","<module> (<s>:3)"],
            "previous":[{"class":"KeyError","message":"","code":"E","file":"other.py","line":7}]}"#;
        let raised = Exception::from_guest(json, &Bounds::MAX).unwrap();
        let source = Source { name: "<s>", text: "def f():\n  raise X\nf()" };
        let expected = "ValueError: no␛[0m\n  at <s>:2:3\n  |\n1 | def f():\n2 |   raise X\n  |   ^\n3 | f()\n  \
            in f (<s>:2)\n  in <module> (<s>:3)\ncaused by: KeyError\n  code: \"E\"\n  at other.py:7\n";
        assert_eq!(exception(&raised, source, Paint::default()), expected);
    }

    #[test]
    fn a_hint_comes_last_in_the_words_of_commands() {
        let mut raised =
            Exception::from_guest(r#"{"class":"SyntaxError","message":"m"}"#, &Bounds::MAX).unwrap();
        raised.hint = Some("it looks like PHP: name `php` as the language".into());
        let source = Source { name: "<s>", text: "" };
        let expected = "SyntaxError: m\nhint: it looks like PHP: add `-l php`\n";
        assert_eq!(exception(&raised, source, Paint::default()), expected);
    }

    #[test]
    fn a_line_of_another_file_comes_from_the_exception() {
        let json = r#"{"class":"E","message":"m","file":"x.py","line":12,"column":1,"excerpt":"boom()"}"#;
        let raised = Exception::from_guest(json, &Bounds::MAX).unwrap();
        let source = Source { name: "<s>", text: "1" };
        let expected = "E: m\n  at x.py:12:1\n   |\n12 | boom()\n   | ^\n";
        assert_eq!(exception(&raised, source, Paint::default()), expected);
    }
}
