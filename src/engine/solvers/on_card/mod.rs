//! Results that stay on a graphics card: values that the host copies when it needs them, and buffers that the renderer
//! reads where a kernel wrote them.

mod drawn_buffers;
mod late;

pub use drawn_buffers::DrawnBuffers;
pub use late::LateValues;
