//! What is meant by `--wasm-image`: checkpoints that all owners' sandboxes can begin with.

use dormouse::sandbox::{CheckpointId, Name};
use dormouse::sandboxes::Rules;
use dormouse::{Error, Result};

use crate::args::ImageArgs;

/// The rules with the images that the operator offers.
pub(super) fn rules(mut rules: Rules, arguments: &ImageArgs) -> Result<Rules> {
    for text in &arguments.wasm_images {
        let refused = || {
            Error::args_invalid(format!("`--wasm-image {}` names no checkpoint", text.escape_debug()))
                .with_hint(
                    "write `NAME=CHECKPOINT` with the id of one, as `dormouse sandbox checkpoints` shows it",
                )
        };
        let (name, checkpoint) = text.split_once('=').ok_or_else(refused)?;
        let name = Name::parse(name).map_err(|_| refused())?;
        let checkpoint = CheckpointId::parse(checkpoint).ok_or_else(refused)?;
        if rules.images.insert(name.as_str().to_owned(), checkpoint).is_some() {
            return Err(Error::args_invalid(format!("`--wasm-image`: `{name}` is named twice")));
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_a_name_and_the_id_of_a_checkpoint() {
        let meant = |texts: &[&str]| {
            let wasm_images = texts.iter().map(|text| (*text).to_owned()).collect();
            rules(Rules::default(), &ImageArgs { wasm_images })
        };
        let one = CheckpointId::random().unwrap();
        let named = format!("data science={one}");
        assert_eq!(meant(&[&named]).unwrap().images.get("data science"), Some(&one));
        assert!(meant(&[&named, &named]).is_err(), "twice");
        for bad in ["", "data", "data=", "data=good", "=ckpt-x", &format!("a/b={one}")] {
            assert!(meant(&[bad]).is_err(), "{bad}");
        }
    }
}
