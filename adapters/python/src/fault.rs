//! An error, as the package raises it.

use dormouse::Error;
use dormouse_sdk::hint_and_causes;
use pyo3::prelude::*;

/// The exception `dormouse.Error` with the code, the message, the hint and the causes of an error.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(fault) => fault,
    }
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let (hint, causes) = hint_and_causes(error);
    let class = py.import("dormouse._errors")?.getattr("Error")?;
    class.call1((error.code().as_str(), error.message(), hint, causes))
}
