//! Results that stay on a graphics card: values that the host copies when it needs them, curves that one kernel reads
//! where another wrote them, and buffers that the renderer reads.

mod cuda;
mod drawn_buffers;
mod late;
mod places;

pub use cuda::{
    CurvesOfCard, CurvesOnCards, KernelLine, LINES_PER_BATCH, batches, few_threads_each, line_at,
    on_cards_alone,
};
pub use drawn_buffers::DrawnBuffers;
pub use late::LateValues;
pub use places::Places;
