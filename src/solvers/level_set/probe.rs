//! Target and tolerance from voxels that a hand passes over.

use crate::data::Volume;

/// Mean and spread of the values probed so far (Welford 1962).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Probe {
    pub count: u64,
    pub mean: f64,
    squares: f64,
}

impl Probe {
    /// The tolerance is as many standard deviations of what was probed: one voxel of noise in seven leaves
    /// it, which the curvature holds. At a contrast of three deviations the border is half way to the background,
    /// at one of two three quarters of it: with twice the spread such lesions leak …
    pub const SPREADS: f64 = 1.5;
    /// … and at least this share of the image's range: a probe in the middle of a structure knows nothing
    /// of how its border is blurred, nor how far away other tissues are. In T1 images it is half way from
    /// CSF to grey matter.
    pub const SHARE: f64 = 0.25;
    /// Shares of the voxels, background left out, between which the range lies; those of the display, so
    /// that they are known.
    const RANGE: (f64, f64) = (0.01, 0.99);

    /// Voxels without a value are passed over.
    pub fn add(&mut self, value: f32) {
        if !value.is_finite() {
            return;
        }
        let value = f64::from(value);
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Standard deviation; 0 below two values.
    pub fn spread(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            n => (self.squares / (n - 1) as f64).sqrt(),
        }
    }

    /// ε for voxels of such a spread in an image.
    pub fn tolerance(spread: f64, image: &Volume, frame: usize) -> f32 {
        let (low, high) = image.percentiles(frame, Self::RANGE.0, Self::RANGE.1);
        let range = f64::from(high - low);
        (Self::SPREADS * spread).max(Self::SHARE * range) as f32
    }

    /// T and ε.
    pub fn target(&self, image: &Volume, frame: usize) -> Result<(f32, f32), String> {
        if self.count == 0 {
            return Err("Found no probed voxel with a value, expected some; probe more".to_owned());
        }
        let tolerance = Self::tolerance(self.spread(), image, frame);
        if !(tolerance > 0.0) {
            return Err(format!(
                "Found {} in every probed voxel of an image without contrast, expected some; choose another \
                 image",
                self.mean
            ));
        }
        Ok((self.mean as f32, tolerance))
    }
}
