//! Types that all features build on and that depend on no feature.

pub mod camera;
pub(in crate::state) mod chain;
pub(in crate::state) mod citations;
pub mod colours;
pub mod display;
pub mod ends;
pub(in crate::state) mod fields;
pub mod glyph_look;
pub mod layer;
pub mod live;
pub mod notices;
pub mod overlay;
pub mod pane;
pub mod phase;
pub(in crate::state) mod settings;
pub mod slice_turn;
pub mod task;
pub mod text;
pub mod viewpoint;
pub mod volume_look;
