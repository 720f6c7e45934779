//! How the renderer loads and draws: settings that hold for all following pictures.

use super::{LineRaster, March, Renderer, line_raster, slice_of_time};
use std::time::Instant;

impl Renderer {
    /// Loads streamlines completely before drawing, instead of during a time slice per call.
    pub fn load_at_once(&mut self) {
        self.loading = None;
        self.scenes.line_rasteriser.waits = true;
    }

    /// Loads streamlines during a time slice per call, as suits a window; this is the default.
    pub fn load_in_pieces(&mut self) {
        self.loading = Some(slice_of_time(&self.gpu));
        self.scenes.line_rasteriser.waits = false;
    }

    /// Pictures of new panes that take longer than this, ms, are drawn roughly at first and then in pieces, one per
    /// call.
    pub fn set_patience_ms(&mut self, ms: f64) {
        self.patience_ms = ms;
    }

    /// Records an interaction: better pictures wait until it pauses, so that its effect shows soon.
    pub fn record_interaction(&mut self) {
        self.touched = Some(Instant::now());
    }

    /// How rays traverse volumes in the following pictures.
    pub fn set_march(&mut self, how: March) {
        self.scenes.volumes.how = how;
    }

    /// Starts to compile the shaders of streamlines on a thread, as suits a window, which opens before its data is read.
    pub fn create_ahead(&mut self) {
        self.scenes.create_ahead(&self.gpu, &self.lines);
    }

    /// When compute shaders draw streamlines in the following pictures.
    pub fn set_line_raster(&mut self, when: LineRaster) {
        self.scenes.line_rasteriser.when = when;
    }

    /// Whether compute shaders draw many lines by default.
    pub fn computes_lines(&self) -> bool {
        self.gpu.computes_lines && self.can_compute_lines()
    }

    /// Passes of streamlines that compute shaders have drawn so far.
    pub fn computed_passes(&self) -> u64 {
        self.scenes.line_rasteriser.passes()
    }

    /// Whether the device has what [`LineRaster::Always`] needs.
    pub fn can_compute_lines(&self) -> bool {
        self.gpu.device.features().contains(line_raster::FEATURES)
    }
}
