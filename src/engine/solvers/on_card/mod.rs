//! Results that stay on a graphics card: values that the host copies when it needs them, and buffers that the renderer
//! reads where a kernel wrote them.

mod cuda;
mod drawn_buffers;

pub use cuda::LateValues;
pub use drawn_buffers::DrawnBuffers;
