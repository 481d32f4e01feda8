//! An error, as the package raises it.

use dormouse::Error;
use dormouse_sdk::hint_and_causes;
use serde_json::json;

/// The code, the message, the hint and the causes of an error, as JSON: the package makes its `DormouseError` of it.
pub(crate) fn told(error: &Error) -> String {
    let (hint, causes) = hint_and_causes(error);
    json!({
        "code": error.code().as_str(),
        "message": error.message(),
        "hint": hint,
        "causes": causes,
    })
    .to_string()
}

/// An exception whose message is that JSON.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(told(error))
}
