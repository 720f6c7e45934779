//! Arrays of any number type and byte order, as float32 or as indices.

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use rayon::prelude::*;

/// Numbers that one thread takes at a time.
const BATCH: usize = 1 << 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Type {
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Whether a float32 may not hold all its digits.
    pub fn is_wide_integer(self) -> bool {
        matches!(self, Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    /// Fills `out` with the first numbers of this type in the bytes.
    pub fn fill(self, bytes: &[u8], big_endian: bool, out: &mut [f32]) {
        let size = self.bytes();
        let parts = out
            .par_chunks_mut(BATCH)
            .zip(bytes.par_chunks(BATCH * size));
        parts.for_each(|(out, bytes)| match (self, big_endian) {
            (Self::F32, false) if cfg!(target_endian = "little") => {
                let out: &mut [u8] = bytemuck::cast_slice_mut(out);
                out.copy_from_slice(&bytes[..out.len()]);
            }
            (Self::F16, _) => halves(bytes, big_endian, out),
            _ => out.copy_from_slice(&self.floats(bytes, big_endian)[..out.len()]),
        });
    }

    /// All whole numbers of this type in the bytes.
    pub fn floats(self, bytes: &[u8], big_endian: bool) -> Vec<f32> {
        let big = big_endian;
        match self {
            Self::F16 => {
                let mut values = vec![0f32; bytes.len() / 2];
                self.fill(bytes, big, &mut values);
                values
            }
            Self::F32 => numbers(bytes, big, f32::from_le_bytes),
            Self::F64 => numbers(bytes, big, |b| f64::from_le_bytes(b) as f32),
            Self::I8 => numbers(bytes, big, |b| f32::from(i8::from_le_bytes(b))),
            Self::I16 => numbers(bytes, big, |b| f32::from(i16::from_le_bytes(b))),
            Self::I32 => numbers(bytes, big, |b| i32::from_le_bytes(b) as f32),
            Self::I64 => numbers(bytes, big, |b| i64::from_le_bytes(b) as f32),
            Self::U8 => numbers(bytes, big, |b| f32::from(u8::from_le_bytes(b))),
            Self::U16 => numbers(bytes, big, |b| f32::from(u16::from_le_bytes(b))),
            Self::U32 => numbers(bytes, big, |b| u32::from_le_bytes(b) as f32),
            Self::U64 => numbers(bytes, big, |b| u64::from_le_bytes(b) as f32),
        }
    }

    /// Numbers that count from 0; `None` where the type is not a whole one. A negative number
    /// becomes one that is too large for any file.
    pub fn indices(self, bytes: &[u8], big_endian: bool) -> Option<Vec<u64>> {
        let big = big_endian;
        let signed = |v: i64| u64::try_from(v).unwrap_or(u64::MAX);
        Some(match self {
            Self::F16 | Self::F32 | Self::F64 => return None,
            Self::I8 => numbers(bytes, big, |b| signed(i8::from_le_bytes(b).into())),
            Self::I16 => numbers(bytes, big, |b| signed(i16::from_le_bytes(b).into())),
            Self::I32 => numbers(bytes, big, |b| signed(i32::from_le_bytes(b).into())),
            Self::I64 => numbers(bytes, big, |b| signed(i64::from_le_bytes(b))),
            Self::U8 => numbers(bytes, big, |b| u8::from_le_bytes(b).into()),
            Self::U16 => numbers(bytes, big, |b| u16::from_le_bytes(b).into()),
            Self::U32 => numbers(bytes, big, |b| u32::from_le_bytes(b).into()),
            Self::U64 => numbers(bytes, big, u64::from_le_bytes),
        })
    }
}

fn numbers<const N: usize, T: Send>(
    bytes: &[u8],
    big_endian: bool,
    number: impl Fn([u8; N]) -> T + Sync + Send,
) -> Vec<T> {
    let (whole, _) = bytes.as_chunks::<N>();
    let little = |&b: &[u8; N]| b;
    let turned = |&b: &[u8; N]| {
        let mut b = b;
        b.reverse();
        b
    };
    let whole = whole.par_iter().with_min_len(BATCH);
    match big_endian {
        true => whole.map(|b| number(turned(b))).collect(),
        false => whole.map(|b| number(little(b))).collect(),
    }
}

/// Half precision by the processor's own instructions, which take whole slices.
fn halves(bytes: &[u8], big_endian: bool, out: &mut [f32]) {
    const SLICE: usize = 1024;
    let order = match big_endian {
        true => f16::from_be_bytes,
        false => f16::from_le_bytes,
    };
    let mut halves = [f16::ZERO; SLICE];
    let whole = bytes.as_chunks::<2>().0;
    for (bytes, out) in whole.chunks(SLICE).zip(out.chunks_mut(SLICE)) {
        let halves = &mut halves[..out.len()];
        for (half, &b) in halves.iter_mut().zip(bytes) {
            *half = order(b);
        }
        halves.convert_to_f32_slice(out);
    }
}
