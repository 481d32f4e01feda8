//! Options in the way of GNU's `getopt_long`: bundles, values that are attached or follow, long names cut short.

/// What a command knows: a letter or long name, and whether a value belongs to it.
#[derive(Clone, Copy)]
pub(super) enum Value {
    None,
    Required,
    /// Only `--name=value` or an attached one.
    Optional,
}

/// One known option: its letter (NUL: it has none), its long name (empty: it has none), its value.
pub(super) type Known = (char, &'static str, Value);

/// An option as it was given: the long name if there is one, else the letter.
pub(super) struct Given {
    pub(super) letter: char,
    pub(super) name: &'static str,
    pub(super) value: Option<String>,
}

/// Options and operands; an operand before an option is one all the same.
pub(super) fn parse(
    command: &str,
    known: &[Known],
    words: &[String],
) -> Result<(Vec<Given>, Vec<String>), String> {
    let (mut given, mut operands) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            operands.extend(rest.by_ref().cloned());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, attached) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let &(letter, name, value) = find_long(known, name)
                .ok_or_else(|| format!("{command}: unrecognized option '--{name}'{}", hint(command)))?;
            let value = match value {
                Value::Required if attached.is_none() => Some(rest.next().cloned().ok_or_else(|| {
                    format!("{command}: option '--{name}' requires an argument{}", hint(command))
                })?),
                Value::None if attached.is_some() => {
                    return Err(format!(
                        "{command}: option '--{name}' doesn't allow an argument{}",
                        hint(command)
                    ));
                }
                _ => attached,
            };
            given.push(Given { letter, name, value });
        } else if word.len() > 1 && word.starts_with('-') {
            let mut letters = word[1..].chars();
            while let Some(one) = letters.next() {
                let &(letter, name, value) = known
                    .iter()
                    .find(|(letter, ..)| *letter == one && one != '\0')
                    .ok_or_else(|| format!("{command}: invalid option -- '{one}'{}", hint(command)))?;
                let attached = Some(letters.as_str().to_owned()).filter(|text| !text.is_empty());
                let value = match value {
                    Value::None => None,
                    Value::Optional => {
                        letters = "".chars();
                        attached
                    }
                    Value::Required => {
                        letters = "".chars();
                        Some(attached.or_else(|| rest.next().cloned()).ok_or_else(|| {
                            format!("{command}: option requires an argument -- '{one}'{}", hint(command))
                        })?)
                    }
                };
                given.push(Given { letter, name, value });
            }
        } else {
            operands.push(word.clone());
        }
    }
    Ok((given, operands))
}

fn find_long<'a>(known: &'a [Known], name: &str) -> Option<&'a Known> {
    let mut fitting = known.iter().filter(|(_, long, _)| !long.is_empty() && long.starts_with(name));
    let first = fitting.next()?;
    match known.iter().find(|(_, long, _)| *long == name) {
        Some(exact) => Some(exact),
        None => fitting.next().is_none().then_some(first),
    }
}

fn hint(command: &str) -> String {
    format!("\n{command}: Try '{command} --help' for more information.")
}
