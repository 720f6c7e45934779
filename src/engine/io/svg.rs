//! Plots as SVG: a line with a band around it, and bars. A plot is text of its own or part of a page ([`super::html`]);
//! it loads nothing.

mod pixels;

use super::text::in_line;
use super::{Error, atomic};
use std::fmt::Write as _;
use std::path::Path;

/// Size of a plot, and the space that its axes need, in units of the picture.
const SIZE: (f64, f64) = (640.0, 280.0);
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 48.0;
/// Fewest steps between the numbers of an axis; there may be twice as many.
const STEPS: f64 = 3.0;

/// One value along a line, with its spread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Position on the horizontal axis.
    pub x: f64,
    /// The line passes through it; a value that is not finite interrupts the line.
    pub mean: f64,
    /// Half the height of the band.
    pub sd: f64,
}

/// The content of a plot.
#[derive(Clone, PartialEq, Debug)]
pub enum Marks {
    /// A line with a band of one standard deviation on either side.
    Line(Vec<Sample>),
    /// Bars of equal width from the first to the last position.
    Bars {
        /// Left end of the first bar and right end of the last.
        range: (f64, f64),
        /// Height of each bar.
        counts: Vec<u64>,
    },
}

/// A plot with named axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Text for those who do not see the picture.
    pub title: String,
    /// Name of the horizontal axis, with its unit.
    pub x: String,
    /// Name of the vertical axis, with its unit.
    pub y: String,
    /// The marks between the axes.
    pub marks: Marks,
}

/// The text with the characters escaped that have a meaning in HTML and XML; control characters become spaces.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in in_line(text, ' ').chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A range of values on a length of the picture.
struct Axis {
    low: f64,
    high: f64,
    /// Positions in the picture of the smallest and the largest value.
    ends: (f64, f64),
}

impl Axis {
    fn new(values: (f64, f64), ends: (f64, f64)) -> Self {
        let (low, high) = match values.0.is_finite() && values.1.is_finite() {
            true => values,
            false => (0.0, 1.0),
        };
        // A constant has an axis, too.
        let margin = match high - low > 1e-12 * high.abs().max(low.abs()) {
            true => 0.0,
            false => 0.5 * high.abs().max(1.0),
        };
        Self {
            low: low - margin,
            high: high + margin,
            ends,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// The largest step of 1, 2 or 5 times a power of ten of which at least [`STEPS`] fit into the range.
    fn step(&self) -> f64 {
        let largest = (self.high - self.low) / STEPS;
        let power = 10f64.powf(largest.log10().floor());
        let steps = [5.0, 2.0, 1.0].map(|n| n * power);
        steps
            .into_iter()
            .find(|step| *step <= largest * (1.0 + 1e-9))
            .unwrap_or(power)
    }

    /// The numbers at the axis, with their text.
    fn ticks(&self) -> Vec<(f64, String)> {
        let step = self.step();
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let count = (last - first).clamp(0.0, 20.0) as usize;
        let tick = |i: usize| {
            let value = (first + i as f64) * step;
            // No minus before a zero.
            let value = if value.abs() < 0.5 * step { 0.0 } else { value };
            (value, format!("{value:.decimals$}"))
        };
        (0..=count).map(tick).collect()
    }
}

/// The smallest and the largest of the finite values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values
        .filter(|v| v.is_finite())
        .fold(start, |(low, high), v| (low.min(v), high.max(v)))
}

impl Plot {
    /// The plot as an element of a page, whose style sheet colours it.
    pub fn element(&self) -> String {
        self.text("")
    }

    /// The plot as a file of its own, dark on white.
    pub fn file(&self) -> String {
        const STYLE: &str = "<style>text{font:13px sans-serif;fill:#222}.grid{stroke:#ddd}.axis{stroke:#666}\
             .band{fill:#2f6fb5;fill-opacity:.22}.line{fill:none;stroke:#2f6fb5;stroke-width:2}.bar{fill:#2f6fb5}</style>\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>";
        let text = self.text(STYLE);
        let text = text.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n")
    }

    /// Writes the plot as a file of its own: as pixels if its name ends in .png, otherwise as SVG.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        match super::extension(path).as_str() {
            "png" => self.save_pixels(path),
            _ => atomic::write_text(path, &self.file()),
        }
    }

    fn axes(&self) -> (Axis, Axis) {
        let (width, height) = SIZE;
        let (across, up) = ((LEFT, width - RIGHT), (height - BOTTOM, TOP));
        match &self.marks {
            Marks::Line(samples) => {
                let ends = samples.iter().flat_map(|s| [s.mean - s.sd, s.mean + s.sd]);
                let x = range(samples.iter().map(|s| s.x));
                (Axis::new(x, across), Axis::new(range(ends), up))
            }
            Marks::Bars { range, counts } => {
                let most = counts.iter().copied().max().unwrap_or(0).max(1);
                (Axis::new(*range, across), Axis::new((0.0, most as f64), up))
            }
        }
    }

    fn text(&self, style: &str) -> String {
        let (width, height) = SIZE;
        let (x, y) = self.axes();
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>\
             {style}"
        );
        // Writing to a string does not fail.
        for (value, text) in y.ticks() {
            let at = y.at(value);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                width - RIGHT,
                LEFT - 8.0,
                at + 4.0
            );
        }
        let bottom = height - BOTTOM;
        for (value, text) in x.ticks() {
            let at = x.at(value);
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                bottom + 4.0,
                bottom + 18.0
            );
        }
        self.add_marks(&x, &y, &mut svg);
        let (middle, half) = (0.5 * (LEFT + width - RIGHT), 0.5 * (TOP + bottom));
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text x=\"14\" y=\"{half}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {half})\">{}</text></svg>",
            width - RIGHT,
            height - 8.0,
            escaped(&self.x),
            escaped(&self.y)
        );
        svg
    }

    fn add_marks(&self, x: &Axis, y: &Axis, svg: &mut String) {
        match &self.marks {
            Marks::Bars { range, counts } => {
                let wide = (range.1 - range.0) / counts.len().max(1) as f64;
                let base = y.at(0.0);
                for (i, n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                    let [from, to] = [i, i + 1].map(|i| x.at(range.0 + i as f64 * wide));
                    let top = y.at(*n as f64);
                    let _ = write!(
                        svg,
                        "<rect class=\"bar\" x=\"{from:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\"/>",
                        (to - from - 1.0).max(0.5),
                        base - top
                    );
                }
            }
            Marks::Line(samples) => {
                let parts = samples.split(|s| !(s.mean.is_finite() && s.sd.is_finite()));
                for part in parts.filter(|part| !part.is_empty()) {
                    let point =
                        |s: &Sample, value: f64| format!("{:.1},{:.1}", x.at(s.x), y.at(value));
                    let above = part.iter().map(|s| point(s, s.mean + s.sd));
                    let below = part.iter().rev().map(|s| point(s, s.mean - s.sd));
                    let band: Vec<String> = above.chain(below).collect();
                    let line: Vec<String> = part.iter().map(|s| point(s, s.mean)).collect();
                    let _ = write!(
                        svg,
                        "<polygon class=\"band\" points=\"{}\"/><polyline class=\"line\" points=\"{}\"/>",
                        band.join(" "),
                        line.join(" ")
                    );
                }
            }
        }
    }
}
