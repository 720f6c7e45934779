//! Arrays of any number type and byte order, as float32 or as indices.

use crate::compute::simd;
use rayon::prelude::*;

/// Numbers that one thread processes at a time.
const BATCH: usize = 1 << 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
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

    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Whether float32 may not represent all its digits.
    pub fn is_wide_integer(self) -> bool {
        matches!(self, Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    /// Whether the numbers are float32 in native byte order.
    pub fn is_single(self, big_endian: bool) -> bool {
        self == Self::F32 && big_endian == cfg!(target_endian = "big")
    }

    /// Fills `out` with the first numbers of this type in the bytes.
    pub fn fill(self, bytes: &[u8], big_endian: bool, out: &mut [f32]) {
        let parts = out
            .par_chunks_mut(BATCH)
            .zip(bytes.par_chunks(BATCH * self.bytes()));
        parts.for_each(|(out, bytes)| self.fill_alone(bytes, big_endian, out));
    }

    /// Fills the output on this thread alone.
    pub fn fill_alone(self, bytes: &[u8], big_endian: bool, out: &mut [f32]) {
        match self {
            _ if self.is_single(big_endian) => {
                let out: &mut [u8] = bytemuck::cast_slice_mut(out);
                out.copy_from_slice(&bytes[..out.len()]);
            }
            Self::F16 => simd::dispatch(HalfPrecision {
                bytes,
                big_endian,
                out,
            }),
            Self::F32 => convert_into(bytes, big_endian, f32::from_le_bytes, out),
            Self::F64 => convert_into(bytes, big_endian, |b| f64::from_le_bytes(b) as f32, out),
            _ => out.copy_from_slice(&self.floats(bytes, big_endian)[..out.len()]),
        }
    }

    /// All complete numbers of this type in the bytes.
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

    /// Calls `see` with every little-endian number of the bytes in double precision, and whether that represents it
    /// exactly.
    pub fn for_each(self, bytes: &[u8], mut see: impl FnMut(f64, bool)) {
        macro_rules! numbers {
            ($number:ty) => {
                for b in bytes.as_chunks::<{ size_of::<$number>() }>().0 {
                    see(f64::from(<$number>::from_le_bytes(*b)), true);
                }
            };
            ($number:ty, wide) => {
                for b in bytes.as_chunks::<{ size_of::<$number>() }>().0 {
                    let number = <$number>::from_le_bytes(*b);
                    see(number as f64, number as f64 as i128 == i128::from(number));
                }
            };
        }
        match self {
            Self::F16 => {
                for b in bytes.as_chunks::<2>().0 {
                    see(f64::from(half_from_bits(u16::from_le_bytes(*b))), true);
                }
            }
            Self::F32 => numbers!(f32),
            Self::F64 => numbers!(f64),
            Self::I8 => numbers!(i8),
            Self::I16 => numbers!(i16),
            Self::I32 => numbers!(i32),
            Self::I64 => numbers!(i64, wide),
            Self::U8 => numbers!(u8),
            Self::U16 => numbers!(u16),
            Self::U32 => numbers!(u32),
            Self::U64 => numbers!(u64, wide),
        }
    }

    /// The little-endian bytes of a number given as text; `None` if the type cannot hold it.
    pub fn bytes_of(self, word: &str, into: &mut Vec<u8>) -> Option<()> {
        macro_rules! put {
            ($number:ty) => {
                into.extend(word.parse::<$number>().ok()?.to_le_bytes())
            };
        }
        match self {
            Self::F16 => return None,
            Self::F32 => put!(f32),
            Self::F64 => put!(f64),
            Self::I8 => put!(i8),
            Self::I16 => put!(i16),
            Self::I32 => put!(i32),
            Self::I64 => put!(i64),
            Self::U8 => put!(u8),
            Self::U16 => put!(u16),
            Self::U32 => put!(u32),
            Self::U64 => put!(u64),
        }
        Some(())
    }

    /// Indices from 0; `None` if the type is not an integer. A negative number becomes one that is too large for any
    /// file.
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
    let whole = whole.par_iter().with_min_len(BATCH);
    match big_endian {
        true => whole.map(|&b| number(reversed_bytes(b))).collect(),
        false => whole.map(|&b| number(b)).collect(),
    }
}

#[inline(always)]
fn convert_into<const N: usize>(
    bytes: &[u8],
    big_endian: bool,
    number: impl Fn([u8; N]) -> f32,
    out: &mut [f32],
) {
    let pairs = out.iter_mut().zip(bytes.as_chunks::<N>().0);
    match big_endian {
        true => pairs.for_each(|(out, &b)| *out = number(reversed_bytes(b))),
        false => pairs.for_each(|(out, &b)| *out = number(b)),
    }
}

#[inline(always)]
fn reversed_bytes<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    bytes.reverse();
    bytes
}

/// Half precision by plain arithmetic, which compiles to vector code: the processor's own instruction would be called
/// separately for every eight numbers, and requires alignment.
struct HalfPrecision<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    out: &'a mut [f32],
}

impl simd::Kernel for HalfPrecision<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let number = |b| half_from_bits(u16::from_le_bytes(b));
        convert_into(self.bytes, self.big_endian, number, self.out);
    }
}

/// A half-precision number (IEEE 754-2019, binary16) from its bits. Its exponent and fraction, placed at those of a
/// float32, represent 2⁻¹¹² times the number, including subnormal ones; the product is exact.
#[inline(always)]
fn half_from_bits(bits: u16) -> f32 {
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    const INFINITE: u32 = 0x7c00 << 13;
    let size = u32::from(bits & 0x7fff) << 13;
    let scaled = (f32::from_bits(size) * SCALE).to_bits();
    // Infinite values and NaN are preserved.
    let exponent = if size >= INFINITE {
        f32::INFINITY.to_bits()
    } else {
        0
    };
    f32::from_bits(scaled | exponent | u32::from(bits & 0x8000) << 16)
}
