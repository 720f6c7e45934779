//! Target and tolerance from voxels that a hand passes over.

/// Mean and spread of the values probed so far (Welford 1962).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Probe {
    pub count: u64,
    pub mean: f64,
    squares: f64,
}

impl Probe {
    /// How many standard deviations of what was probed the tolerance is: noise of the object passes,
    /// what differs by three of them does not.
    pub const SPREADS: f64 = 1.5;

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

    /// T and ε.
    pub fn target(&self) -> Result<(f32, f32), String> {
        let tolerance = Self::SPREADS * self.spread();
        if !(tolerance > 0.0) {
            return Err(format!(
                "Found {} probed voxels that do not differ, expected some that show the noise; probe more",
                self.count
            ));
        }
        Ok((self.mean as f32, tolerance as f32))
    }
}
