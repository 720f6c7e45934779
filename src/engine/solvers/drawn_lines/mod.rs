//! Streamlines as they are drawn, written by the card that has their points.
//!
//! The bytes are those that the renderer writes for streamlines on the host (`data::line_order`, `data::line_blocks`).

mod cuda;

pub use cuda::{LineFacts, LinesOnCard, PackedLines, drawn};
