//! Placeholders in a request become values, where they may; where one may not, nothing is sent.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use memchr::memmem;
use zeroize::Zeroizing;

use crate::host::Host;
use crate::policy::{Part, SetHeader};
use crate::reason::{Reason, Refusal};
use crate::secrets::value::Value;
use crate::secrets::vault::{Current, in_query};
use crate::secrets::{Place, Secret};

/// The secrets of one request.
pub(crate) struct Filling<'a> {
    /// What the operator said of them.
    pub(crate) secrets: &'a [Secret],
    /// Their placeholders for the owner.
    pub(crate) placeholders: &'a [String],
    /// Whether the sandbox has each.
    pub(crate) granted: &'a [bool],
    /// Their values.
    pub(crate) current: Arc<Current>,
    /// Where the request goes.
    pub(crate) host: &'a Host,
    /// Whether it goes over TLS.
    pub(crate) secure: bool,
}

/// A request's parts in which placeholders are looked for.
pub(crate) struct Parts<'a> {
    /// Its headers.
    pub(crate) headers: &'a mut HeaderMap,
    /// Its path.
    pub(crate) path: &'a str,
    /// Its query, wiped after use.
    pub(crate) query: &'a mut Option<Zeroizing<String>>,
}

impl Filling<'_> {
    /// Puts values where placeholders may stand. The numbers of the secrets that were used.
    ///
    /// # Errors
    /// `secret` for a placeholder that stands where it may not.
    pub(crate) fn fill(&self, parts: &mut Parts<'_>) -> Result<Vec<usize>, Refusal> {
        let mut used = Vec::new();
        for number in 0..self.secrets.len() {
            let hits = [
                self.fill_headers(number, parts)?,
                self.fill_basic(number, parts)?,
                self.fill_query(number, parts)?,
            ];
            if hits.contains(&true) {
                used.push(number);
            }
        }
        Ok(used)
    }

    /// Whether a placeholder counts at a place of this request.
    ///
    /// # Errors
    /// `secret` where it does not.
    fn may(&self, number: usize, place: Option<&Place>) -> Result<(), Refusal> {
        let secret = &self.secrets[number];
        let name = &secret.name;
        let refuse = |told: String| Err(Refusal::new(Reason::Secret, told));
        if !self.granted[number] {
            refuse(format!("the secret `{name}` is not this sandbox's"))
        } else if !secret.is_for(self.host) {
            refuse(format!("the secret `{name}` is not for the host `{}`", self.host))
        } else if !self.secure {
            refuse(format!("the secret `{name}` goes over https only"))
        } else if !place.is_some_and(|place| secret.places.contains(place)) {
            let places: Vec<String> = secret.places.iter().map(ToString::to_string).collect();
            refuse(format!(
                "the secret `{name}` stands where it does not count; its places: {}",
                places.join(", ")
            ))
        } else {
            Ok(())
        }
    }

    fn fill_headers(&self, number: usize, parts: &mut Parts<'_>) -> Result<bool, Refusal> {
        let placeholder = self.placeholders[number].as_bytes();
        let in_name = |name: &HeaderName| holds(name.as_str().as_bytes(), &placeholder.to_ascii_lowercase());
        if holds(parts.path.as_bytes(), placeholder) || parts.headers.keys().any(in_name) {
            self.may(number, None)?;
        }
        let with = |(name, value): (&HeaderName, &HeaderValue)| {
            holds(value.as_bytes(), placeholder).then(|| name.clone())
        };
        let names: Vec<HeaderName> = parts.headers.iter().filter_map(with).collect();
        for name in &names {
            self.may(number, Some(&Place::Header(name.clone())))?;
            let values: Vec<HeaderValue> = parts.headers.get_all(name).iter().cloned().collect();
            parts.headers.remove(name);
            for value in values {
                let filled = match swapped(value.as_bytes(), placeholder, self.value(number).bytes()) {
                    Some(filled) => sensitive(&filled)?,
                    None => value,
                };
                parts.headers.append(name, filled);
            }
        }
        Ok(!names.is_empty())
    }

    /// `Basic`: the placeholder is behind base64.
    fn fill_basic(&self, number: usize, parts: &mut Parts<'_>) -> Result<bool, Refusal> {
        let values: Vec<HeaderValue> = parts.headers.get_all(AUTHORIZATION).iter().cloned().collect();
        let mut all = Vec::with_capacity(values.len());
        let mut hit = false;
        for value in values {
            let text = value.to_str().ok().and_then(|text| text.split_once(' '));
            let coded =
                text.filter(|(kind, _)| kind.eq_ignore_ascii_case("basic")).map(|(_, coded)| coded.trim());
            let plain = coded.and_then(|coded| STANDARD.decode(coded).ok()).map(Zeroizing::new);
            let filled = plain.and_then(|plain| {
                swapped(&plain, self.placeholders[number].as_bytes(), self.value(number).bytes())
            });
            all.push(match filled {
                None => value,
                Some(filled) => {
                    self.may(number, Some(&Place::Basic))?;
                    hit = true;
                    let coded = Zeroizing::new(STANDARD.encode(&*filled));
                    sensitive(Zeroizing::new(format!("Basic {}", *coded)).as_bytes())?
                }
            });
        }
        if hit {
            parts.headers.remove(AUTHORIZATION);
            for value in all {
                parts.headers.append(AUTHORIZATION, value);
            }
        }
        Ok(hit)
    }

    fn fill_query(&self, number: usize, parts: &mut Parts<'_>) -> Result<bool, Refusal> {
        let placeholder = self.placeholders[number].as_str();
        let Some(query) = parts.query.as_mut().filter(|query| query.contains(placeholder)) else {
            return Ok(false);
        };
        for pair in query.split('&').filter(|pair| pair.contains(placeholder)) {
            let name = pair.split_once('=').map(|(name, _)| name).filter(|name| !name.contains(placeholder));
            let place = name.map(|name| Place::Query(name.to_owned()));
            self.may(number, place.as_ref())?;
        }
        let coded = in_query(self.value(number));
        let coded = Zeroizing::new(String::from_utf8_lossy(&coded).into_owned());
        *query = Zeroizing::new(query.replace(placeholder, &coded));
        Ok(true)
    }

    fn value(&self, number: usize) -> &Value {
        self.current.value(number)
    }

    /// The value of a header that a rule sets; the secrets in it are added to `used`.
    ///
    /// # Errors
    /// `secret` where one may not go.
    pub(crate) fn set(&self, header: &SetHeader, used: &mut Vec<usize>) -> Result<HeaderValue, Refusal> {
        let mut text = Zeroizing::new(Vec::new());
        for part in &header.parts {
            match part {
                Part::Text(part) => text.extend_from_slice(part.as_bytes()),
                Part::Secret(name) => {
                    let found = self.secrets.iter().position(|secret| secret.name == *name);
                    let number =
                        found.filter(|number| self.secure && self.secrets[*number].is_for(self.host));
                    let Some(number) = number else {
                        return Err(Refusal::new(
                            Reason::Secret,
                            format!("the secret `{name}` may not go here"),
                        ));
                    };
                    text.extend_from_slice(self.value(number).bytes());
                    if !used.contains(&number) {
                        used.push(number);
                    }
                }
            }
        }
        sensitive(&text)
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    memmem::find(text, part).is_some()
}

/// The text with each `from` replaced. None: there is none.
fn swapped(text: &[u8], from: &[u8], to: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut hits = memmem::find_iter(text, from).peekable();
    hits.peek()?;
    // All at once: what would be moved would leave copies behind.
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() + to.len() * (text.len() / from.len())));
    let mut at = 0;
    for hit in hits {
        out.extend_from_slice(&text[at..hit]);
        out.extend_from_slice(to);
        at = hit + from.len();
    }
    out.extend_from_slice(&text[at..]);
    Some(out)
}

fn sensitive(bytes: &[u8]) -> Result<HeaderValue, Refusal> {
    let value = HeaderValue::from_bytes(bytes);
    let mut value = value.map_err(|_| Refusal::new(Reason::Form, "a header cannot have this value"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
