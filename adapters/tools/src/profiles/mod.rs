//! The profiles that have names, arguments and texts of their own over the work of `verbs`.

pub(crate) mod code;
pub(crate) mod codegen;
pub(crate) mod eval;
pub(crate) mod rlm;
pub(crate) mod sprites;

pub(crate) use self::code::PROFILE as CODE;
pub(crate) use self::codegen::PROFILE as CODEGEN;
pub(crate) use self::rlm::PROFILE as RLM;
