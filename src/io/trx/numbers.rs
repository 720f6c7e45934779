//! Arrays of any number type, little-endian, as float32 or as indices.

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
    /// By the ending of a member's name; `bit` is one byte for each, as trx-python keeps it.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "float16" => Self::F16,
            "float32" => Self::F32,
            "float64" => Self::F64,
            "int8" => Self::I8,
            "int16" => Self::I16,
            "int32" => Self::I32,
            "int64" => Self::I64,
            "uint8" | "bit" | "bool" => Self::U8,
            "uint16" => Self::U16,
            "uint32" => Self::U32,
            "uint64" => Self::U64,
            _ => return None,
        })
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Whether a float32 may not hold all its digits.
    pub fn is_wide(self) -> bool {
        matches!(
            self,
            Self::F64 | Self::I32 | Self::U32 | Self::I64 | Self::U64
        )
    }

    /// All whole numbers of this type in the bytes.
    pub fn floats(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F16 => halves(bytes),
            Self::F32 => numbers(bytes, f32::from_le_bytes),
            Self::F64 => numbers(bytes, |b| f64::from_le_bytes(b) as f32),
            Self::I8 => numbers(bytes, |b| f32::from(i8::from_le_bytes(b))),
            Self::I16 => numbers(bytes, |b| f32::from(i16::from_le_bytes(b))),
            Self::I32 => numbers(bytes, |b| i32::from_le_bytes(b) as f32),
            Self::I64 => numbers(bytes, |b| i64::from_le_bytes(b) as f32),
            Self::U8 => numbers(bytes, |b| f32::from(u8::from_le_bytes(b))),
            Self::U16 => numbers(bytes, |b| f32::from(u16::from_le_bytes(b))),
            Self::U32 => numbers(bytes, |b| u32::from_le_bytes(b) as f32),
            Self::U64 => numbers(bytes, |b| u64::from_le_bytes(b) as f32),
        }
    }

    /// Numbers that count from 0; `None` where the type is not a whole one. A negative number
    /// becomes one that is too large for any file.
    pub fn indices(self, bytes: &[u8]) -> Option<Vec<u64>> {
        let signed = |v: i64| u64::try_from(v).unwrap_or(u64::MAX);
        Some(match self {
            Self::F16 | Self::F32 | Self::F64 => return None,
            Self::I8 => numbers(bytes, |b| signed(i8::from_le_bytes(b).into())),
            Self::I16 => numbers(bytes, |b| signed(i16::from_le_bytes(b).into())),
            Self::I32 => numbers(bytes, |b| signed(i32::from_le_bytes(b).into())),
            Self::I64 => numbers(bytes, |b| signed(i64::from_le_bytes(b))),
            Self::U8 => numbers(bytes, |b| u8::from_le_bytes(b).into()),
            Self::U16 => numbers(bytes, |b| u16::from_le_bytes(b).into()),
            Self::U32 => numbers(bytes, |b| u32::from_le_bytes(b).into()),
            Self::U64 => numbers(bytes, u64::from_le_bytes),
        })
    }
}

fn numbers<const N: usize, T: Send>(
    bytes: &[u8],
    number: impl Fn([u8; N]) -> T + Sync + Send,
) -> Vec<T> {
    let (whole, _) = bytes.as_chunks::<N>();
    whole
        .par_iter()
        .with_min_len(BATCH)
        .map(|&b| number(b))
        .collect()
}

/// Half precision by the processor's own instructions, which take whole slices.
fn halves(bytes: &[u8]) -> Vec<f32> {
    let (whole, _) = bytes.as_chunks::<2>();
    let mut values = vec![0f32; whole.len()];
    let parts = values.par_chunks_mut(BATCH).zip(whole.par_chunks(BATCH));
    parts.for_each_init(Vec::new, |halves: &mut Vec<f16>, (values, bytes)| {
        halves.clear();
        halves.extend(bytes.iter().map(|&b| f16::from_le_bytes(b)));
        halves.convert_to_f32_slice(values);
    });
    values
}
