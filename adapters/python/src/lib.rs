//! The module `dormouse._native`: the engine as Python's package sees it.
//!
//! Requests and answers are JSON text, as with every other door; what they mean to a program in Python is written in Python, in
//! the folder `dormouse` beside this one. Errors are raised by it too ([`fault`]).
//!
//! | step | module |
//! | --- | --- |
//! | the engine; a call that is waited for, and one that is told when it is done | [`engine`] |
//! | functions and output of the program | [`function`] |
//! | an error, as the package raises it | [`fault`] |

mod engine;
mod fault;
mod function;

use pyo3::prelude::*;

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<engine::Ticket>()?;
    module.add_class::<function::Reply>()?;
    module.add_function(wrap_pyfunction!(function::part, module)?)?;
    module.add_function(wrap_pyfunction!(function::parted, module)?)?;
    module.add_function(wrap_pyfunction!(function::forked, module)?)?;
    module.add_function(wrap_pyfunction!(function::end, module)?)
}
