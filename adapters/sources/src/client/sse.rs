//! Server-sent events, bounded: one event here, the whole stream by who reads it. What the known crates lack of that is in
//! `docs/decisions/mcp-client.md`.

use super::wire::MAX_MESSAGE;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its kind; empty means `message`.
    pub(super) kind: String,
    /// Its data lines, joined by newlines. Not checked to be UTF-8.
    pub(super) data: Vec<u8>,
}

/// Reads a stream piece by piece. Holds at most one event and one line, together at most [`MAX_MESSAGE`] bytes.
#[derive(Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

/// An event has more than [`MAX_MESSAGE`] bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Parser {
    /// Takes a piece; adds the events that it completes.
    pub(super) fn feed(&mut self, piece: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + part.len() + self.event.data.len() + self.event.kind.len() > MAX_MESSAGE {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { return Ok(()) };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            if let Some(event) = self.take_line(&line) {
                events.push(event);
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        let line = match std::mem::replace(&mut self.begun, true) {
            true => line,
            false => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line),
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.kind = String::from_utf8_lossy(&value[..value.len().min(64)]).into_owned(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for piece in pieces {
            parser.feed(piece, &mut events).unwrap();
        }
        events.into_iter().map(|event| (event.kind, String::from_utf8(event.data).unwrap())).collect()
    }

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let text = "\u{feff}: hello\r\nevent: endpoint\r\ndata: /x?a:b\r\n\r\nid\ndata\ndata:  y\nfoo: bar\rretry: 1\r\r\nevent: none\n\ndata: last\n\ndata: cut";
        let expected = [("endpoint", "/x?a:b"), ("", "\n y"), ("", "last")];
        let expected: Vec<_> = expected.map(|(kind, data)| (kind.to_owned(), data.to_owned())).into();
        assert_eq!(all(&[text.as_bytes()]), expected);
        for size in 1..8 {
            assert_eq!(all(&text.as_bytes().chunks(size).collect::<Vec<_>>()), expected, "{size}");
        }
    }

    #[test]
    fn an_event_has_at_most_so_many_bytes_in_one_line_or_in_many() {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        let fits = [&b"data: "[..], &vec![b'x'; MAX_MESSAGE - 6], b"\n\n"].concat();
        parser.feed(&fits, &mut events).unwrap();
        assert_eq!(events[0].data.len(), MAX_MESSAGE - 6);
        let long = [&b"data: "[..], &vec![b'x'; MAX_MESSAGE - 5]].concat();
        assert_eq!(Parser::default().feed(&long, &mut events), Err(TooLong));
        let mut parser = Parser::default();
        let line = [&b"data: "[..], &vec![b'x'; 1 << 20], b"\n"].concat();
        let fed: Result<Vec<()>, TooLong> = (0..5).map(|_| parser.feed(&line, &mut events)).collect();
        assert_eq!(fed, Err(TooLong));
        // Comments are no part of an event, however many there are.
        let mut parser = Parser::default();
        for _ in 0..6 {
            parser.feed(&[&b": "[..], &vec![b'x'; 1 << 20], b"\n"].concat(), &mut events).unwrap();
        }
    }
}
