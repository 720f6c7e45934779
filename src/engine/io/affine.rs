//! Affines that map one image to another: FSL's FLIRT matrices and ITK's transform files.
//!
//! *FLIRT* (`.mat`, four rows of four numbers) maps FSL coordinates of the moving image to those of the fixed one:
//! voxel indices times edge lengths, with the first axis counted from the other end if the image's affine has a
//! positive determinant. It is meaningless without the grids of both images.
//!
//! *ITK* (text `.txt`, `.tfm`; ANTs' MATLAB 4 `.mat`) maps points of the *fixed* image to the moving one, in LPS mm:
//! y = A (x − c) + c + t. The moving image is therefore moved by its inverse.

use super::source::plain_file;
use super::{Error, atomic};
use crate::data::Grid;
use glam::{DAffine3, DMat3, DVec3};
use std::fmt::Write as _;
use std::path::Path;

/// An affine from a file, with its source and target coordinates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Affine {
    /// From moving to fixed, world RAS mm.
    World(DAffine3),
    /// From moving to fixed, each in its own FSL coordinates.
    Flirt(DAffine3),
}

/// Larger files are not affines.
const MAX_BYTES: u64 = 1 << 20;

const EXPECTED: &str = "a FLIRT matrix of 4 rows of 4 numbers or an affine of ITK or ANTs";

/// Reads a matrix of FLIRT, or a text or MATLAB transform of ITK, by content, not by name.
pub fn read(path: &Path) -> Result<Affine, Error> {
    let bytes = small(path)?;
    if let Some(affine) = matlab(path, &bytes)? {
        return Ok(affine);
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Error::malformed(path, "bytes that are not text", EXPECTED))?;
    if text.trim_start().starts_with("#Insight") {
        return itk(path, text);
    }
    flirt(path, text)
}

fn small(path: &Path) -> Result<Vec<u8>, Error> {
    if plain_file(path, EXPECTED)?.len() > MAX_BYTES {
        return Err(Error::malformed(path, "more than 1 MB", EXPECTED));
    }
    super::disk::read(path).map_err(|e| Error::reading(path, &e))
}

/// Whether an affine is finite and keeps all three dimensions.
pub(super) fn is_invertible(affine: DAffine3) -> bool {
    let m = affine.matrix3;
    let size = m.x_axis.length() * m.y_axis.length() * m.z_axis.length();
    affine.is_finite() && m.determinant().abs() > 1e-9 * size
}

/// A warning about an affine that exchanges left and right hands.
pub(super) fn mirror_warning(affine: DAffine3) -> Option<String> {
    let mirrors = affine.matrix3.determinant() < 0.0;
    mirrors.then(|| {
        "The affine mirrors the data (its determinant is negative), which no alignment of one head does; check it"
            .to_owned()
    })
}

/// Returns the affine if it is finite and invertible.
fn checked(path: &Path, affine: DAffine3) -> Result<DAffine3, Error> {
    if is_invertible(affine) {
        return Ok(affine);
    }
    Err(Error::malformed(
        path,
        "a matrix that cannot be inverted",
        EXPECTED,
    ))
}

/// The affine with these rows of three factors and a translation.
fn of_rows(rows: [[f64; 4]; 3]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3::from_mat3_translation(DMat3::from_cols(column(0), column(1), column(2)), column(3))
}

fn flirt(path: &Path, text: &str) -> Result<Affine, Error> {
    let rows: Option<Vec<Vec<f64>>> = text
        .lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| l.split_whitespace().map(|n| n.parse().ok()).collect())
        .collect();
    let rows = rows.filter(|rows| rows.len() == 4 && rows.iter().all(|r| r.len() == 4));
    let Some(rows) = rows else {
        return Err(Error::malformed(
            path,
            "a text without four rows of four numbers",
            EXPECTED,
        ));
    };
    if rows[3] != [0.0, 0.0, 0.0, 1.0] {
        return Err(Error::malformed(
            path,
            "a last row that is not 0 0 0 1",
            EXPECTED,
        ));
    }
    let row = |i: usize| [rows[i][0], rows[i][1], rows[i][2], rows[i][3]];
    let affine = of_rows([row(0), row(1), row(2)]);
    Ok(Affine::Flirt(checked(path, affine)?))
}

fn itk(path: &Path, text: &str) -> Result<Affine, Error> {
    let count = text.matches("Transform:").count();
    if count != 1 {
        return Err(Error::malformed(
            path,
            format!("{count} transforms"),
            ("one", "join them to one affine first"),
        ));
    }
    let after = |name: &str| {
        let mut lines = text.lines().filter_map(|l| l.trim().strip_prefix(name));
        lines.next().map(str::trim)
    };
    let numbers = |name: &str| -> Option<Vec<f64>> {
        let fields = after(name)?.split_whitespace();
        fields.map(|n| n.parse().ok()).collect()
    };
    let kind = after("Transform:").unwrap_or_default();
    let parameters = numbers("Parameters:").unwrap_or_default();
    let centre = numbers("FixedParameters:").unwrap_or_default();
    itk_affine(path, kind, &parameters, &centre)
}

/// The affine from numbers in ITK's order.
fn itk_affine(path: &Path, kind: &str, p: &[f64], centre: &[f64]) -> Result<Affine, Error> {
    let name = kind.split('_').next().unwrap_or_default();
    let c = match centre {
        [x, y, z, ..] => DVec3::new(*x, *y, *z),
        [] => DVec3::ZERO,
        _ => {
            return Err(Error::malformed(
                path,
                "a centre with fewer than 3 numbers",
                EXPECTED,
            ));
        }
    };
    let (matrix, shift) = match (name, p) {
        ("AffineTransform" | "MatrixOffsetTransformBase", [a, b, c, d, e, f, g, h, i, x, y, z]) => {
            (
                of_rows([[*a, *b, *c, 0.0], [*d, *e, *f, 0.0], [*g, *h, *i, 0.0]]).matrix3,
                DVec3::new(*x, *y, *z),
            )
        }
        // Angles about x, y and z; ITK rotates about y first, then x, then z.
        ("Euler3DTransform", [a, b, c, x, y, z]) => (
            DMat3::from_rotation_z(*c) * DMat3::from_rotation_x(*a) * DMat3::from_rotation_y(*b),
            DVec3::new(*x, *y, *z),
        ),
        ("TranslationTransform", [x, y, z]) => (DMat3::IDENTITY, DVec3::new(*x, *y, *z)),
        _ => {
            let found = format!("the transform {kind} with {} parameters", p.len());
            let expected = "an affine, Euler3D or translation in three dimensions";
            return Err(Error::malformed(path, found, expected));
        }
    };
    let moving_from_fixed = DAffine3::from_mat3_translation(matrix, c + shift - matrix * c);
    let lps = lps();
    let moving_from_fixed = lps * checked(path, moving_from_fixed)? * lps;
    Ok(Affine::World(moving_from_fixed.inverse()))
}

/// LPS from RAS, and back.
fn lps() -> DAffine3 {
    DAffine3::from_scale(DVec3::new(-1.0, -1.0, 1.0))
}

/// A MATLAB 4 file as written by ANTs: a column named like the transform, and `fixed`; `None` for any other file.
fn matlab(path: &Path, bytes: &[u8]) -> Result<Option<Affine>, Error> {
    let mut rest = bytes;
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    while rest.len() >= 20 {
        let header_field = |i: usize| {
            let b = &rest[4 * i..4 * i + 4];
            i32::from_le_bytes([b[0], b[1], b[2], b[3]])
        };
        let (kind, rows, cols, imaginary, name) = (
            header_field(0),
            header_field(1),
            header_field(2),
            header_field(3),
            header_field(4),
        );
        // Little-endian full matrices of double or single precision.
        let size = match kind {
            0 => 8,
            10 => 4,
            _ => break,
        };
        let small = |n: i32| (1..=64).contains(&n);
        if !(small(rows) && small(cols) && small(name) && imaginary == 0) {
            break;
        }
        let (name, count) = (name as usize, (rows * cols) as usize);
        let end = 20 + name + count * size;
        if rest.len() < end {
            break;
        }
        let text = String::from_utf8_lossy(&rest[20..20 + name]);
        let text = text.trim_end_matches('\0').to_owned();
        let values = rest[20 + name..end].chunks_exact(size).map(|b| match *b {
            [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => f64::NAN,
        });
        columns.push((text, values.collect()));
        rest = &rest[end..];
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let named = |fixed: bool| columns.iter().find(|c| (c.0 == "fixed") == fixed);
    let Some((kind, parameters)) = named(false) else {
        return Err(Error::malformed(
            path,
            "a MATLAB file without a transform",
            EXPECTED,
        ));
    };
    let centre = named(true).map_or(&[][..], |c| &c.1);
    itk_affine(path, kind, parameters, centre).map(Some)
}

/// FSL coordinates, mm, of an image's voxels.
pub fn fsl_from_voxel(grid: &Grid) -> DAffine3 {
    let spacing = grid.spacing();
    let scale = DAffine3::from_scale(spacing);
    if grid.world_from_voxel.matrix3.determinant() <= 0.0 {
        return scale;
    }
    let last = (grid.shape[0] - 1) as f64 * spacing.x;
    DAffine3::from_translation(DVec3::new(last, 0.0, 0.0))
        * DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0))
        * scale
}

impl Affine {
    /// The transform from moving to fixed in world RAS mm; `None` if a required grid is missing.
    pub fn in_world(&self, moving: Option<&Grid>, fixed: Option<&Grid>) -> Option<DAffine3> {
        match self {
            Self::World(affine) => Some(*affine),
            Self::Flirt(affine) => {
                let (moving, fixed) = (moving?, fixed?);
                let to = fixed.world_from_voxel * fsl_from_voxel(fixed).inverse();
                let from = fsl_from_voxel(moving) * moving.voxel_from_world;
                Some(to * *affine * from)
            }
        }
    }
}

/// Writes a transform from moving to fixed as ITK text.
pub fn save_itk(path: &Path, moved: DAffine3) -> Result<(), Error> {
    let lps = lps();
    let affine = lps * moved.inverse() * lps;
    let (m, t) = (affine.matrix3, affine.translation);
    let mut text = String::from(
        "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters:",
    );
    for row in 0..3 {
        let r = m.row(row);
        let _ = write!(text, " {} {} {}", r.x, r.y, r.z);
    }
    let _ = write!(text, " {} {} {}\nFixedParameters: 0 0 0\n", t.x, t.y, t.z);
    atomic::write_text(path, &text)
}

/// Writes it as a FLIRT matrix between two grids.
pub fn save_flirt(path: &Path, moved: DAffine3, moving: &Grid, fixed: &Grid) -> Result<(), Error> {
    let to = fsl_from_voxel(fixed) * fixed.voxel_from_world;
    let from = moving.world_from_voxel * fsl_from_voxel(moving).inverse();
    let affine = to * moved * from;
    let (m, t) = (affine.matrix3, affine.translation);
    let mut text = String::new();
    for row in 0..3 {
        let r = m.row(row);
        let _ = writeln!(text, "{}  {}  {}  {}", r.x, r.y, r.z, t[row]);
    }
    text += "0  0  0  1\n";
    atomic::write_text(path, &text)
}
