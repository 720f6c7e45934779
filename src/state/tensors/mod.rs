//! Tensors of a scan: their fit, and checks of the gradients and the order of the tensors.

pub(in crate::state) mod actions;
pub(in crate::state) mod axes;
pub(in crate::state) mod changes;
mod document;
mod fod_images;
pub mod fod_text;
pub(in crate::state) mod fods;
pub(in crate::state) mod inputs;
pub mod jobs;
pub mod mask_text;
pub(in crate::state) mod methods;
pub(in crate::state) mod orders;
pub mod recipe;
pub(in crate::state) mod shapes;
pub mod types;
pub(in crate::state) mod update;
pub(in crate::state) mod withdraw;

pub use shapes::name as map_name;
