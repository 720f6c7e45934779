//! Decodes voxels of any stored type directly to float32.

use super::header::{Header, VoxelType};

/// How stored bytes are converted to values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoder {
    pub voxel_type: VoxelType,
    pub big_endian: bool,
    pub scaling: Option<(f64, f64)>,
}

impl Decoder {
    pub fn new(header: &Header) -> Self {
        Self {
            voxel_type: header.voxel_type,
            big_endian: header.big_endian,
            scaling: header.scaling,
        }
    }

    /// `bytes` holds whole voxels, `values` one element for each.
    pub fn scalars(&self, bytes: &[u8], values: &mut [f32]) {
        macro_rules! decode {
            ($number:ty) => {{
                const N: usize = size_of::<$number>();
                // Scaled in double precision, because float32 does not represent every 32-bit integer.
                match (self.big_endian, self.scaling) {
                    (false, None) => {
                        decode_values::<N>(bytes, values, |b| <$number>::from_le_bytes(b) as f32)
                    }
                    (true, None) => {
                        decode_values::<N>(bytes, values, |b| <$number>::from_be_bytes(b) as f32)
                    }
                    (false, Some((slope, inter))) => decode_values::<N>(bytes, values, |b| {
                        (<$number>::from_le_bytes(b) as f64 * slope + inter) as f32
                    }),
                    (true, Some((slope, inter))) => decode_values::<N>(bytes, values, |b| {
                        (<$number>::from_be_bytes(b) as f64 * slope + inter) as f32
                    }),
                }
            }};
        }
        match self.voxel_type {
            VoxelType::U8 => decode!(u8),
            VoxelType::I8 => decode!(i8),
            VoxelType::I16 => decode!(i16),
            VoxelType::U16 => decode!(u16),
            VoxelType::I32 => decode!(i32),
            VoxelType::U32 => decode!(u32),
            VoxelType::I64 => decode!(i64),
            VoxelType::U64 => decode!(u64),
            VoxelType::F32 => decode!(f32),
            VoxelType::F64 => decode!(f64),
            VoxelType::Rgb24 | VoxelType::Rgba32 => unreachable!("colours have their own decoder"),
        }
    }

    /// Three planes of `0..=1` from interleaved bytes; the opacity of RGBA is dropped.
    pub fn colours(&self, bytes: &[u8], [red, green, blue]: [&mut [f32]; 3]) {
        let voxels = bytes.chunks_exact(self.voxel_type.bytes());
        let places = red.iter_mut().zip(green).zip(blue);
        for (voxel, ((r, g), b)) in voxels.zip(places) {
            *r = f32::from(voxel[0]) / 255.0;
            *g = f32::from(voxel[1]) / 255.0;
            *b = f32::from(voxel[2]) / 255.0;
        }
    }
}

fn decode_values<const N: usize>(bytes: &[u8], values: &mut [f32], value: impl Fn([u8; N]) -> f32) {
    let (voxels, _) = bytes.as_chunks::<N>();
    for (v, &b) in values.iter_mut().zip(voxels) {
        *v = value(b);
    }
}
