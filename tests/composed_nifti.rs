//! NIfTI files composed byte by byte from the standard's tables, independent of the program's writer.

use crate::Random;
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DAffine3, DMat3, DVec3};
use std::io::Write;
use std::path::Path;

/// Code, bytes and name of every scalar voxel type that is read.
pub const TYPES: [(i16, usize, &str); 10] = [
    (2, 1, "uint8"),
    (256, 1, "int8"),
    (4, 2, "int16"),
    (512, 2, "uint16"),
    (8, 4, "int32"),
    (768, 4, "uint32"),
    (1024, 8, "int64"),
    (1280, 8, "uint64"),
    (16, 4, "float32"),
    (64, 8, "float64"),
];

/// A header with everything that reading uses.
#[derive(Clone, Debug)]
pub struct ComposedNifti {
    pub version: u8,
    pub big_endian: bool,
    pub single_file: bool,
    pub dim: [i64; 8],
    pub datatype: i16,
    pub bitpix: i16,
    pub pixdim: [f64; 8],
    pub vox_offset: f64,
    pub slope: f64,
    pub inter: f64,
    pub units: u8,
    pub qform_code: i16,
    pub sform_code: i16,
    pub quatern: [f64; 3],
    pub qoffset: [f64; 3],
    pub srow: [[f64; 4]; 3],
    pub voxels: Vec<u8>,
}

impl ComposedNifti {
    /// A 4 × 3 × 2 int16 ramp with an sform, in one file.
    pub fn ramp(version: u8) -> Self {
        Self {
            version,
            big_endian: false,
            single_file: true,
            dim: [3, 4, 3, 2, 1, 1, 1, 1],
            datatype: 4,
            bitpix: 16,
            pixdim: [1.0, 2.0, 2.5, 3.0, 1.0, 1.0, 1.0, 1.0],
            vox_offset: if version == 1 { 352.0 } else { 544.0 },
            slope: 1.0,
            inter: 0.0,
            units: 10,
            qform_code: 0,
            sform_code: 1,
            quatern: [0.0; 3],
            qoffset: [0.0; 3],
            srow: [
                [-2.0, 0.0, 0.0, 4.0],
                [0.0, 2.5, 0.0, -7.0],
                [0.0, 0.0, 3.0, 11.0],
            ],
            voxels: (0..24i16).flat_map(i16::to_le_bytes).collect(),
        }
    }

    pub fn set_affine(&mut self, affine: DAffine3) {
        for row in 0..3 {
            for c in 0..3 {
                self.srow[row][c] = affine.matrix3.col(c)[row];
            }
            self.srow[row][3] = affine.translation[row];
        }
    }

    pub fn header(&self) -> Vec<u8> {
        let mut h = Field {
            bytes: vec![0; if self.version == 1 { 348 } else { 540 }],
            big_endian: self.big_endian,
        };
        let size = h.bytes.len() as i32;
        h.put(0, size.to_le_bytes());
        if self.version == 1 {
            for i in 0..8 {
                h.put(40 + 2 * i, (self.dim[i] as i16).to_le_bytes());
                h.f32(76 + 4 * i, self.pixdim[i]);
            }
            h.put(70, self.datatype.to_le_bytes());
            h.put(72, self.bitpix.to_le_bytes());
            h.f32(108, self.vox_offset);
            h.f32(112, self.slope);
            h.f32(116, self.inter);
            h.bytes[123] = self.units;
            h.put(252, self.qform_code.to_le_bytes());
            h.put(254, self.sform_code.to_le_bytes());
            for i in 0..3 {
                h.f32(256 + 4 * i, self.quatern[i]);
                h.f32(268 + 4 * i, self.qoffset[i]);
                for c in 0..4 {
                    h.f32(280 + 16 * i + 4 * c, self.srow[i][c]);
                }
            }
            let magic = if self.single_file { b"n+1\0" } else { b"ni1\0" };
            h.bytes[344..348].copy_from_slice(magic);
        } else {
            let magic = if self.single_file { b"n+2\0" } else { b"ni2\0" };
            h.bytes[4..8].copy_from_slice(magic);
            h.bytes[8..12].copy_from_slice(b"\r\n\x1a\n");
            h.put(12, self.datatype.to_le_bytes());
            h.put(14, self.bitpix.to_le_bytes());
            for i in 0..8 {
                h.put(16 + 8 * i, self.dim[i].to_le_bytes());
                h.put(104 + 8 * i, self.pixdim[i].to_le_bytes());
            }
            h.put(168, (self.vox_offset as i64).to_le_bytes());
            h.put(176, self.slope.to_le_bytes());
            h.put(184, self.inter.to_le_bytes());
            h.put(344, i32::from(self.qform_code).to_le_bytes());
            h.put(348, i32::from(self.sform_code).to_le_bytes());
            for i in 0..3 {
                h.put(352 + 8 * i, self.quatern[i].to_le_bytes());
                h.put(376 + 8 * i, self.qoffset[i].to_le_bytes());
                for c in 0..4 {
                    h.put(400 + 32 * i + 8 * c, self.srow[i][c].to_le_bytes());
                }
            }
            h.put(500, i32::from(self.units).to_le_bytes());
        }
        h.bytes
    }

    /// The whole of a single file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.resize((self.vox_offset as usize).max(bytes.len()), 0);
        bytes.extend(&self.voxels);
        bytes
    }

    /// Writes one file or a pair, plain or gzip by the name; the name of a pair ends in `.hdr`.
    pub fn write(&self, path: &Path) {
        if self.single_file {
            return put(path, &self.bytes());
        }
        put(path, &self.header());
        let name = path.to_str().expect("a plain name");
        let mut voxels = vec![0; self.vox_offset as usize];
        voxels.extend(&self.voxels);
        put(Path::new(&name.replace(".hdr", ".img")), &voxels);
    }
}

/// Writes a file, compressed by gzip if the name ends with .gz.
pub fn put(path: &Path, bytes: &[u8]) {
    let bytes = if path.extension().is_some_and(|e| e == "gz") {
        gzip(bytes)
    } else {
        bytes.to_vec()
    };
    std::fs::write(path, bytes).expect("a temporary folder can be written to");
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A regular affine: rotated, anisotropic, any axis order and handedness, sheared on request.
pub fn random_affine(random: &mut Random, sheared: bool) -> DAffine3 {
    let mut edge = || random.uniform(0.5, 4.0);
    let spacing = DVec3::new(edge(), edge(), edge());
    let mut sign = || if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
    let flips = DVec3::new(sign(), sign(), sign());
    let shear = if sheared {
        random.uniform(0.1, 0.4)
    } else {
        0.0
    };
    let tilt = DMat3::from_cols(DVec3::X, DVec3::new(shear, 1.0, 0.0), DVec3::Z);
    let turned = DMat3::from_quat(random.rotation());
    let matrix = turned * tilt * DMat3::from_diagonal(flips * spacing);
    DAffine3::from_mat3_translation(matrix, random.direction() * random.uniform(0.0, 200.0))
}

struct Field {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Field {
    fn put<const N: usize>(&mut self, offset: usize, mut little: [u8; N]) {
        if self.big_endian {
            little.reverse();
        }
        self.bytes[offset..offset + N].copy_from_slice(&little);
    }

    fn f32(&mut self, offset: usize, value: f64) {
        self.put(offset, (value as f32).to_le_bytes());
    }
}

/// MATLAB 4: five numbers, a name, a column.
pub fn matlab(columns: &[(&str, &[f64])], single: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, values) in columns {
        let kind = if single { 10 } else { 0 };
        for word in [kind, values.len() as i32, 1, 0, name.len() as i32 + 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(name.bytes().chain([0]));
        for value in *values {
            if single {
                bytes.extend((*value as f32).to_le_bytes());
            } else {
                bytes.extend(value.to_le_bytes());
            }
        }
    }
    bytes
}

/// An affine in the format of ANTs.
pub fn ants_file() -> Vec<u8> {
    let parameters = [
        1.0, 0.1, 0.0, -0.1, 1.0, 0.0, 0.0, 0.0, 1.0, 4.0, -3.5, 20.0,
    ];
    let fixed = [1.0, 2.0, 3.0];
    matlab(
        &[
            ("AffineTransform_double_3_3", &parameters),
            ("fixed", &fixed),
        ],
        false,
    )
}
