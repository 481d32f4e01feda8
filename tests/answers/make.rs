//! Texts of a guest's: of the documented form (docs/values.md), bent, and built to cost as much as possible.

use dormouse::Bounds;
use dormouse_tests::lasting::Dice;
use serde_json::{Value as Json, json};

/// What is put into a text where it does not belong.
const ODD: [&str; 30] = [
    "null",
    "true",
    "-0",
    "1e999",
    "-1e-999",
    "0.1",
    "18446744073709551616",
    "-9223372036854775809",
    "\"\"",
    "\"type\":\"array\",",
    "\"type\":",
    "\"value\":",
    "\"class\":\"C\",",
    "\"id\":1,",
    "\"count\":-1,",
    "\"unheard\":[{}],",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\u0000",
    "\\ud800",
    "\\",
    "\"",
    "\u{feff}",
    "\u{2028}",
    "\u{1f40c}",
    "\u{0}",
];

/// Draws texts.
pub(crate) struct Maker(pub(crate) Dice);

impl Maker {
    fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.0.roll(sides.max(1) as u64)).unwrap_or(0)
    }

    /// A value, an exception or a list of variables, of the documented form.
    pub(crate) fn answer(&mut self) -> String {
        let answer = match self.roll(6) {
            0 => self.exception(2),
            1 => self.variables(),
            _ => self.value(4),
        };
        answer.to_string()
    }

    /// Bounds that a caller may ask for; many texts are longer.
    pub(crate) fn bounds(&mut self) -> Bounds {
        let total = 1 << self.roll(23);
        Bounds { total_bytes: total, string_bytes: total / 2, ..Bounds::default() }
    }

    fn text(&mut self) -> String {
        const LETTERS: [char; 12] =
            ['a', 'Z', '0', ' ', '"', '\\', '\n', '\u{0}', '\u{7f}', 'é', '\u{2028}', '\u{1f40c}'];
        let length = [0, 1, 3, 20, 300][self.roll(5)];
        (0..length).map(|_| LETTERS[self.roll(LETTERS.len())]).collect()
    }

    fn number(&mut self) -> u64 {
        [0, 1, 7, u64::from(u32::MAX), u64::MAX][self.roll(5)]
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = [0, 1, 2, 5][self.roll(4)];
        (0..count).map(|_| one(self)).collect()
    }

    fn fields(&mut self, deep: u32) -> Json {
        let count = self.roll(4);
        Json::Object((0..count).map(|n| (format!("{n}{}", self.text()), self.value(deep))).collect())
    }

    /// A typed value whose containers go `deep` levels down.
    fn value(&mut self, deep: u32) -> Json {
        let deeper = deep.saturating_sub(1);
        let kind = self.roll(if deep == 0 { 8 } else { 12 });
        let mut value = match kind {
            0 => json!({"type": "null", "value": null}),
            1 => json!({"type": "bool", "value": self.roll(2) == 0}),
            2 => json!({"type": "int", "value": self.number().to_string(), "big": self.roll(2) == 0}),
            3 => json!({"type": "int", "value": ([-1, 0, 1_i64 << 53][self.roll(3)])}),
            4 => json!({"type": "float", "value": ([json!(0.5), json!("NaN"), json!(-1e300)][self.roll(3)])}),
            5 => json!({"type": "string", "value": self.text()}),
            6 => json!({"type": "bytes", "value": "AAEC", "length": self.number()}),
            7 => {
                let kind = ["reference", "resource"][self.roll(2)];
                json!({"type": kind, "class": self.text(), "id": self.number()})
            }
            8 => {
                let items = self.list(|maker| maker.value(deeper));
                json!({"type": "array", "is_list": true, "count": items.len(), "value": items})
            }
            9 if self.roll(2) == 0 => {
                let pairs = self.list(|maker| (maker.value(deeper), maker.value(deeper)));
                json!({"type": "array", "is_list": false, "count": pairs.len(), "entries": pairs})
            }
            9 => {
                json!({"type": "array", "is_list": false, "count": self.number(), "value": self.fields(deeper)})
            }
            10 => {
                let items = self.list(|maker| maker.value(deeper));
                json!({"type": "iterable", "class": self.text(), "preview": items, "exhausted": self.roll(2) == 0})
            }
            _ => {
                let (class, id) = (self.text(), self.number());
                json!({"type": "object", "class": class, "id": id, "properties": self.fields(deeper)})
            }
        };
        if [5, 6, 8, 9, 10, 11].contains(&kind) && self.roll(3) == 0 {
            value["truncated"] = true.into();
        }
        value
    }

    fn exception(&mut self, causes: u32) -> Json {
        let mut exception = json!({"class": self.text(), "message": self.text()});
        if self.roll(2) == 0 {
            exception["stack_trace"] = self.list(Self::text).into();
            exception["line"] = self.roll(1 << 30).into();
        }
        if self.roll(2) == 0 {
            exception["code"] = [json!(self.number()), json!(self.text())][self.roll(2)].clone();
        }
        if causes > 0 {
            exception["previous"] = self.list(|maker| maker.exception(causes - 1)).into();
        }
        exception
    }

    fn variables(&mut self) -> Json {
        self.list(|maker| json!({"name": maker.text(), "type": maker.text(), "summary": maker.text()})).into()
    }

    /// A place between two characters.
    fn place(&mut self, text: &str) -> usize {
        text.floor_char_boundary(self.roll(text.len() + 1))
    }

    /// Something else that lies near.
    pub(crate) fn bend(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..=self.roll(3) {
            let (one, other) = (self.place(&text), self.place(&text));
            let (from, to) = (one.min(other), one.max(other));
            let part = text[from..to].to_owned();
            match self.roll(8) {
                0 => text.truncate(from),
                1 => text.replace_range(from..to, ""),
                2 => text.insert_str(to, &part),
                3 => text.insert_str(from, ODD[self.roll(ODD.len())]),
                4 => text.replace_range(from..to, ODD[self.roll(ODD.len())]),
                5 => {
                    let deep = [1, 20, 130, 5_000][self.roll(4)];
                    let head = r#"{"type":"array","is_list":true,"count":1,"value":["#;
                    text = format!("{}{text}{}", head.repeat(deep), "]}".repeat(deep));
                }
                6 => text.insert_str(from, &part.repeat(self.roll(20))),
                _ => {
                    // Fields in another order, doubled, or of another type.
                    let words = [
                        "\"type\"",
                        "\"value\"",
                        "\"class\"",
                        "\"id\"",
                        "\"count\"",
                        "true",
                        "1",
                        "\"array\"",
                    ];
                    let (from, to) = (words[self.roll(words.len())], words[self.roll(words.len())]);
                    text = text.replacen(from, to, 1 + self.roll(3));
                }
            }
        }
        text
    }
}

/// A head, as many of a part as fit, and an end.
fn filled(bytes: usize, head: &str, part: &str, end: &str) -> String {
    let room = bytes.saturating_sub(head.len() + end.len());
    let parts = part.repeat(room / part.len());
    format!("{head}{}{end}", parts.trim_end_matches(','))
}

/// Texts of about so many bytes, each of one kind of part.
pub(crate) fn costly(bytes: usize) -> Vec<(&'static str, String)> {
    const LIST: &str = r#"{"type":"array","is_list":true,"count":1,"value":["#;
    const ITERABLE: &str = r#"{"type":"iterable","class":"","exhausted":true,"preview":["#;
    const ENTRIES: &str = r#"{"type":"array","is_list":false,"count":1,"entries":["#;
    const DICTIONARY: &str = r#"{"type":"array","is_list":false,"count":1,"value":{"#;
    const OBJECT: &str = r#"{"type":"object","class":"","id":1,"properties":{"#;
    const NULL: &str = r#"{"type":"null","value":null},"#;
    const EMPTY: &str = r#"{"type":"string","value":""},"#;
    let numbered = |head: &str, end: &str| {
        let mut text = head.to_owned();
        for number in 0.. {
            if text.len() > bytes {
                break;
            }
            text += &format!("\"{number}\":{NULL}");
        }
        text.truncate(text.len() - 1);
        text + end
    };
    vec![
        ("shortest values", filled(bytes, LIST, NULL, "]}")),
        ("empty texts", filled(bytes, LIST, EMPTY, "]}")),
        (
            "empty lists",
            filled(bytes, LIST, r#"{"type":"array","is_list":true,"count":0,"value":[]},"#, "]}"),
        ),
        ("lists of one", filled(bytes, LIST, &format!("{LIST}{}]}},", NULL.trim_end_matches(',')), "]}")),
        (
            "dictionaries of one",
            filled(bytes, LIST, &format!("{DICTIONARY}\"\":{}}}}},", NULL.trim_end_matches(',')), "]}"),
        ),
        ("a preview", filled(bytes, ITERABLE, NULL, "]}")),
        ("pairs", filled(bytes, ENTRIES, &format!("[{NULL}{}],", NULL.trim_end_matches(',')), "]}")),
        ("a dictionary", numbered(DICTIONARY, "}}")),
        ("an object", numbered(OBJECT, "}}")),
        ("one name", filled(bytes, DICTIONARY, &format!("\"\":{NULL}"), "}}")),
        ("plain numbers", filled(bytes, LIST, "0,", "]}")),
        ("open lists", LIST.repeat(bytes / LIST.len())),
        ("open brackets", "[".repeat(bytes)),
        ("open braces", filled(bytes, "", "{\"a\":", "")),
        ("digits", filled(bytes, r#"{"type":"int","value":"#, "9", "}")),
        ("a fraction", filled(bytes, r#"{"type":"float","value":0."#, "9", "}")),
        ("an exponent", filled(bytes, r#"{"type":"float","value":1e"#, "9", "}")),
        ("escapes", filled(bytes, r#"{"type":"string","value":""#, r"\u0041", r#""}"#)),
        ("line feeds", filled(bytes, r#"{"type":"string","value":""#, r"\n", r#""}"#)),
        ("an unknown field", filled(bytes, r#"{"type":"null","x":["#, "[],", "],\"value\":null}")),
        ("a doubled field", filled(bytes, r#"{"type":"string","value":"a""#, ",\"value\":\"\"", "}")),
        ("spaces", filled(bytes, r#"{"type":"null","#, " ", r#""value":null}"#)),
        ("frames", filled(bytes, r#"{"class":"","message":"","stack_trace":["#, "\"\",", "]}")),
        (
            "causes",
            filled(bytes, r#"{"class":"","message":"","previous":["#, r#"{"class":"","message":""},"#, "]}"),
        ),
        ("causes of causes", filled(bytes, "", r#"{"class":"","message":"","previous":["#, "")),
        ("a long code", filled(bytes, r#"{"class":"","message":"","code":"#, "9", "}")),
        ("a code that is a list", filled(bytes, r#"{"class":"","message":"","code":["#, "0,", "]}")),
        ("variables", filled(bytes, "[", r#"{"name":"","type":"","summary":""},"#, "]")),
    ]
}
