//! The mathematics: pure functions of their arguments, data in, data out.
//!
//! Argument order everywhere: data, parameters, where (`&Backend`), how long (`&Control`). The same
//! inputs, parameters, backend, binary and instruction set give the same bytes at any number of
//! threads. Parameters have no `Default`: defaults, with their reasons, live in the window's forms.

pub mod geodesic;
pub mod tensor_fit;
pub mod tracking;
