//! An exception of a guest language (docs/values.md).

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::value::{BROKEN, Numeral};
use crate::{Bounds, Error, ErrorCode, Result};

/// Frames that a stack trace has at most: those that can be asked for, and the mark that some were left out.
const MAX_FRAMES: usize = 1_001;
/// Causes that an exception has at most.
const MAX_CAUSES: usize = 10;

/// What a snippet raised. Everything in it is text of the guest's, bounded by [`Bounds`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exception {
    /// Name of the class.
    pub class: String,
    /// Its message.
    pub message: String,
    /// A number or a string, where the language has one.
    #[serde(default)]
    pub code: Option<Numeral>,
    /// File, as the language names it.
    #[serde(default)]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Column, from 1.
    #[serde(default)]
    pub column: Option<u32>,
    /// `function (file:line)`, innermost first, at most 1 001.
    #[serde(default, deserialize_with = "at_most::<_, _, MAX_FRAMES>")]
    pub stack_trace: Vec<String>,
    /// The source line that raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The language's own rendering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// What the caller can do about it, in our words and never the guest's: the source may be in another language.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Causes, nearest first, at most 10; they have none of their own.
    #[serde(default, deserialize_with = "at_most::<_, _, MAX_CAUSES>")]
    pub previous: Vec<Exception>,
}

impl Exception {
    /// Names its files below `folder` relative to it, where they have fields of their own: `file` and the frames.
    pub fn relative_to(&mut self, folder: &str) {
        let strip = |path: &str| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
        if let Some(file) = self.file.as_deref().and_then(strip) {
            self.file = Some(file);
        }
        let below = format!(" ({folder}/");
        for frame in &mut self.stack_trace {
            if let Some((function, place)) = frame.split_once(&below) {
                *frame = format!("{function} ({place}");
            }
        }
        self.previous.iter_mut().for_each(|cause| cause.relative_to(folder));
    }

    /// Leaves out the frames of a source of ours, by the name that traces show for it.
    pub fn leave_out(&mut self, source: &str) {
        let (place, closure) = (format!(" ({source}:"), format!("{{closure:{source}:"));
        self.stack_trace.retain(|frame| !frame.contains(&place) && !frame.starts_with(&closure));
        self.previous.iter_mut().for_each(|cause| cause.leave_out(source));
    }

    /// Reads the JSON text that a guest made within `bounds`. A text that is longer than they allow is refused before it is
    /// read.
    ///
    /// # Errors
    /// `guest_trap` when it is not of the documented form: the guest is broken or hostile.
    pub fn from_guest(json: &str, bounds: &Bounds) -> Result<Self> {
        let broken = |message| Error::new(ErrorCode::GuestTrap, message).with_hint(BROKEN);
        let most = bounds.exception_bytes();
        if json.len() > most {
            let message =
                format!("the guest sent an exception of {} bytes, at most {most} are taken", json.len());
            return Err(broken(message));
        }
        serde_json::from_str(json).map_err(|error| {
            broken("the guest sent an exception of an unknown form".into()).with_source(error)
        })
    }
}

/// Reads a list of at most `MOST` items.
fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    from: D,
) -> std::result::Result<Vec<T>, D::Error> {
    struct List<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for List<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = list.next_element()? {
                if items.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                items.push(item);
            }
            Ok(items)
        }
    }
    from.deserialize_seq(List::<T, MOST>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_named_relative_to_it_where_they_have_a_field() {
        let json = r#"{"class":"E","message":"/project/m","file":"/project/src/A.php","line":1,
            "stack_trace":["A->f (/project/src/A.php:1)","g( (/projects/b.php:2)","h (/lib/c.php:3)","i (x) (/project/d (1).py:4)"],
            "traceback":"/project/t","previous":[{"class":"F","message":"","file":"/project/b.py"}]}"#;
        let mut read = Exception::from_guest(json, &Bounds::default()).unwrap();
        read.relative_to("/project");
        assert_eq!(read.file.as_deref(), Some("src/A.php"));
        let frames =
            ["A->f (src/A.php:1)", "g( (/projects/b.php:2)", "h (/lib/c.php:3)", "i (x) (d (1).py:4)"];
        assert_eq!(read.stack_trace, frames);
        assert_eq!(read.previous[0].file.as_deref(), Some("b.py"));
        assert_eq!((read.message.as_str(), read.traceback.as_deref()), ("/project/m", Some("/project/t")));
    }

    #[test]
    fn frames_of_our_own_sources_are_left_out() {
        let json = r#"{"class":"E","message":"","stack_trace":["require (a.php:1)","{closure:<project>:3} (a.php:9)",
            "container (<project>:4)","...(truncated)"]}"#;
        let mut read = Exception::from_guest(json, &Bounds::default()).unwrap();
        read.leave_out("<project>");
        assert_eq!(read.stack_trace, ["require (a.php:1)", "...(truncated)"]);
    }

    #[test]
    fn lists_that_are_too_long_and_codes_that_are_no_code_are_refused() {
        let bad = [
            format!(r#"{{"class":"E","message":"","stack_trace":[{}]}}"#, vec!["\"\""; 1_002].join(",")),
            format!(
                r#"{{"class":"E","message":"","previous":[{}]}}"#,
                [r#"{"class":"","message":""}"#; 11].join(",")
            ),
            r#"{"class":"E","message":"","code":[0]}"#.to_owned(),
            format!(r#"{{"class":"E","message":"{}"}}"#, "x".repeat(Bounds::default().exception_bytes())),
        ];
        for json in bad {
            let error = Exception::from_guest(&json, &Bounds::default()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::GuestTrap, "{json:.60}");
        }
        let good =
            r#"{"class":"E","message":"m","code":2,"previous":[{"class":"F","message":"","code":"x"}]}"#;
        let read = Exception::from_guest(good, &Bounds::default()).unwrap();
        assert_eq!(read.previous[0].code, Some(Numeral::Text("x".into())));
    }
}
