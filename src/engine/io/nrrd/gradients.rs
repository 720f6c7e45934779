//! Gradients in a diffusion scan's own header (NA-MIC's convention, as written by 3D Slicer): one b-value, and for
//! every volume a vector in the measurement frame whose squared length is its share of that b-value.

use super::header::Header;
use crate::io::Error;
use glam::{DMat3, DVec3};
use std::path::Path;

/// b-values (s/mm²) and vectors in world axes, one for each volume.
pub type Rows = (Vec<f64>, Vec<DVec3>);

/// Whether a key of a header concerns the gradients.
pub fn is_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.starts_with("dwmri_") || key == "modality"
}

/// The keys that store a table, for a header of [`super::write`]: the measurement frame is the file's space, and
/// `file_from_world` is a rotation or a reflection. A vector's squared length is its share of the largest b-value.
pub fn keys(b_values: &[f64], directions: &[DVec3], file_from_world: DMat3) -> String {
    let pairs = || b_values.iter().zip(directions);
    let weighted = pairs().filter(|(_, v)| **v != DVec3::ZERO);
    let max_b = weighted.map(|(b, _)| *b).fold(0.0, f64::max);
    let mut text = format!("modality:=DWMRI\nDWMRI_b-value:={max_b}\n");
    for (i, (b, direction)) in pairs().enumerate() {
        let share = if max_b > 0.0 { b / max_b } else { 0.0 };
        // Adding 0 turns -0 into 0.
        let v = file_from_world * *direction * share.sqrt() + DVec3::ZERO;
        text += &format!("DWMRI_gradient_{i:04}:={} {} {}\n", v.x, v.y, v.z);
    }
    text
}

/// `None` where there are none.
pub fn from_header(path: &Path, header: &Header) -> Result<Option<Rows>, Error> {
    let value = |requested: &str| {
        let mut pairs = header.pairs.iter();
        let pair = pairs.find(|(key, _)| key.eq_ignore_ascii_case(requested));
        pair.map(|(_, value)| value.as_str())
    };
    let Some(b) = value("DWMRI_b-value") else {
        return Ok(None);
    };
    let malformed = |found: String, expected: &str| Error::malformed(path, found, expected);
    let nominal: f64 = b
        .parse()
        .ok()
        .filter(|b: &f64| b.is_finite() && *b >= 0.0)
        .ok_or_else(|| malformed(format!("the b-value “{b}”"), "a number of at least 0"))?;
    let frame = header.measurement_frame.unwrap_or(DMat3::IDENTITY);
    let Some(world) = header.world_from_space else {
        return Err(malformed(
            "gradients in a space whose axes have no names".to_owned(),
            "“space: left-posterior-superior” or the like",
        ));
    };
    let mut vectors = Vec::new();
    // A vector may apply to several consecutive volumes.
    while let Some(text) = value(&format!("DWMRI_gradient_{:04}", vectors.len())) {
        let numbers: Option<Vec<f64>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
        let Some(&[x, y, z]) = numbers.as_deref() else {
            return Err(malformed(format!("the gradient “{text}”"), "three numbers"));
        };
        let repeats = value(&format!("DWMRI_NEX_{:04}", vectors.len()));
        let repeats = repeats.map_or(Some(1), |n| n.parse::<usize>().ok());
        let Some(repeats) = repeats.filter(|n| (1..=header.volumes()).contains(n)) else {
            return Err(malformed(
                format!("an invalid count of volumes for the gradient “{text}”"),
                "a whole number from 1",
            ));
        };
        vectors.extend(std::iter::repeat_n(DVec3::new(x, y, z), repeats));
    }
    if vectors.is_empty() {
        return Err(Error::malformed(
            path,
            "a b-value without gradients",
            (
                "“DWMRI_gradient_0000:=x y z” and so on",
                "write the gradients as vectors, since B matrices are not read",
            ),
        ));
    }
    let longest = vectors.iter().map(|v| v.length()).fold(0.0, f64::max);
    let share = |v: &DVec3| match longest > 0.0 {
        true => (v.length() / longest).powi(2),
        false => 0.0,
    };
    // Squares of lengths written as decimals miss round numbers in their last digit.
    let round = |b: f64| {
        let near = (b * 1e6).round() / 1e6;
        if (near - b).abs() <= 1e-12 * b {
            near
        } else {
            b
        }
    };
    let b_values = vectors.iter().map(|v| round(nominal * share(v))).collect();
    let turned = vectors
        .iter()
        .map(|&v| (world * (frame * v)).normalize_or_zero());
    Ok(Some((b_values, turned.collect())))
}
