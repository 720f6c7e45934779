//! Parameters of the diffusion scan of a head.

use super::scan::{ScanOptions, Shell};
use crate::data::{Grid, PhantomKind};
use crate::parameters::{DefaultText, Kind, Limits, Number, Param, Parameters, Text, Unit};
use std::sync::Arc;

/// Parameters of a diffusion scan.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanParams {
    /// Ratio of white matter's b = 0 signal to σ; `None` for no noise.
    pub snr: Option<f64>,
    /// Weighted volumes.
    pub shells: Vec<Shell>,
    /// Number of volumes without weighting.
    pub b0_count: usize,
    /// Edge of the voxels, mm.
    pub spacing_mm: f64,
}

impl ScanParams {
    /// A short clinical scan.
    pub fn defaults() -> Self {
        Self {
            snr: Some(30.0),
            shells: vec![Shell {
                b_s_per_mm2: 1000.0,
                directions: 30,
            }],
            b0_count: 6,
            spacing_mm: 2.0,
        }
    }

    /// A scan of this kind of phantom. Those of the crossing head and of blocks have enough directions for harmonics of
    /// order 8, and shells that separate three tissues.
    pub fn defaults_for(kind: PhantomKind) -> Self {
        let shell = |b_s_per_mm2, directions| Shell {
            b_s_per_mm2,
            directions,
        };
        match kind {
            PhantomKind::Plain => Self::defaults(),
            _ => Self {
                shells: vec![shell(1000.0, 30), shell(2500.0, 60)],
                ..Self::defaults()
            },
        }
    }

    /// The shells as the option gives them.
    pub fn shells_text(&self) -> String {
        shells_text(&self.shells)
    }

    /// The scan on a grid.
    pub fn options(self, grid: Arc<Grid>, noise_seed: u64) -> ScanOptions {
        ScanOptions {
            grid,
            b0_count: self.b0_count,
            shells: self.shells,
            snr: self.snr,
            noise_seed,
        }
    }
}

/// Lowest SNR: still more noise overflows single precision. No scanner is worse.
const MINIMUM_SNR: f64 = 0.001;

fn shells_text(shells: &[Shell]) -> String {
    let shell_text = |shell: &Shell| format!("{}:{}", shell.b_s_per_mm2, shell.directions);
    let all: Vec<String> = shells.iter().map(shell_text).collect();
    all.join(",")
}

fn read_shells(text: &str) -> Option<Vec<Shell>> {
    let read_shell = |text: &str| {
        let (b, n) = text.split_once(':')?;
        let shell = Shell {
            b_s_per_mm2: b.parse().ok()?,
            directions: n.parse().ok()?,
        };
        let permitted = Limits::above(0.0, 20_000.0).contains(shell.b_s_per_mm2);
        (permitted && (1..=1000).contains(&shell.directions)).then_some(shell)
    };
    text.split(',').map(read_shell).collect()
}

/// Permitted voxel sizes, mm: larger voxels exceed parts of the head; smaller ones make the scan too large.
pub const SPACINGS_MM: Limits = Limits::between(0.5, 10.0);

impl Parameters for ScanParams {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "SNR|off",
            help: "Unweighted signal of white matter divided by the σ of the noise, or off",
            default_text: DefaultText::Implied,
            ..Param::new(
                "snr",
                "Signal-to-noise ratio",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (5.0, 100.0),
                    hard: Limits::between(MINIMUM_SNR, f64::INFINITY),
                    off: Some("off: no noise"),
                    ..Number::new(|p| p.snr, |p, v| p.snr = v)
                }),
            )
        },
        Param {
            value_name: "B:N,…",
            help: "b in s/mm² and number of directions of each shell",
            default_text: DefaultText::Noted("{}; of the other kinds 1000:30,2500:60"),
            ..Param::new(
                "shells",
                "Shells",
                Kind::Text(Text {
                    expected: "B:N,… as in 1000:30,2000:60, with B of at most 20000 and N from 1 to 1000",
                    short: false,
                    get: |p| Some(shells_text(&p.shells)),
                    set: |p, text| {
                        p.shells = read_shells(text?)?;
                        Some(())
                    },
                    off: None,
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Number of volumes with b = 0",
            default_text: DefaultText::Implied,
            ..Param::new(
                "b0",
                "Volumes with b = 0",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 20.0),
                    hard: Limits::whole(1.0, 200.0),
                    ..Number::new(
                        |p| Some(p.b0_count as f64),
                        |p, v| p.b0_count = v.map_or(p.b0_count, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "MM",
            help: "Voxel size of the scan, mm",
            default_text: DefaultText::Implied,
            ..Param::new(
                "spacing",
                "Voxel size",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 1,
                    soft: (1.0, 4.0),
                    hard: SPACINGS_MM,
                    ..Number::new(
                        |p| Some(p.spacing_mm),
                        |p, v| p.spacing_mm = v.unwrap_or(p.spacing_mm),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}
