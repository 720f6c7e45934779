//! The size of the first window.

use egui::{Vec2, ViewportBuilder, vec2};

/// With the frame that the desktop adds. eframe reduces it to the size of the monitor.
const WITH_FRAME: Vec2 = vec2(1280.0, 800.0);
/// Height left to the title bar.
const TITLE_BAR: f32 = 40.0;
const MINIMUM_SIZE: Vec2 = vec2(900.0, 600.0);

/// The size requested before the monitor is known.
pub fn requested(builder: ViewportBuilder) -> ViewportBuilder {
    builder
        .with_inner_size(WITH_FRAME)
        .with_clamp_size_to_monitor_size(true)
        .with_min_inner_size(MINIMUM_SIZE)
}

/// The size within the monitor: a magnified interface has few points, and the minimum size must not exceed them.
pub fn within_monitor(mut builder: ViewportBuilder) -> ViewportBuilder {
    // The builder states whether the window was maximised only if it has the size of an earlier window.
    let is_first = builder.maximized.is_none();
    if let Some(size) = &mut builder.inner_size {
        if is_first {
            size.y = (size.y - TITLE_BAR).max(1.0);
        }
        builder.min_inner_size = Some(MINIMUM_SIZE.min(*size));
    }
    builder
}
