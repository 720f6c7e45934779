//! Voxel types that are read.

use super::unsupported_voxels::UnsupportedVoxels;
use crate::io::numbers::Type;
use crate::io::stored::Pixel;
use nifti::{NiftiHeader, NiftiType};

/// Voxel type of a file, as its header states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VoxelType {
    /// Unsigned byte.
    U8,
    /// Signed byte.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer; float32 rounds large ones.
    I32,
    /// Unsigned 32-bit integer; float32 rounds large ones.
    U32,
    /// Signed 64-bit integer; float32 rounds large ones.
    I64,
    /// Unsigned 64-bit integer; float32 rounds large ones.
    U64,
    /// 32-bit float, stored exactly in memory.
    F32,
    /// 64-bit float, rounded to float32 in memory.
    F64,
    /// Red, green, blue, a byte each.
    Rgb24,
    /// Red, green, blue, opacity, a byte each.
    Rgba32,
}

impl VoxelType {
    /// Size of one voxel in the file, bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::Rgb24 => 3,
            Self::I32 | Self::U32 | Self::F32 | Self::Rgba32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Name by NIfTI, such as `uint8`.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Rgb24 => "RGB24",
            Self::Rgba32 => "RGBA32",
        }
    }

    pub(super) fn pixel(self) -> Pixel {
        Pixel::Number(match self {
            Self::U8 => Type::U8,
            Self::I8 => Type::I8,
            Self::I16 => Type::I16,
            Self::U16 => Type::U16,
            Self::I32 => Type::I32,
            Self::U32 => Type::U32,
            Self::I64 => Type::I64,
            Self::U64 => Type::U64,
            Self::F32 => Type::F32,
            Self::F64 => Type::F64,
            Self::Rgb24 => return Pixel::Rgb,
            Self::Rgba32 => return Pixel::Rgba,
        })
    }

    /// Whether a voxel holds a colour.
    pub fn is_colour(self) -> bool {
        matches!(self, Self::Rgb24 | Self::Rgba32)
    }

    /// Whether it can hold integers that float32 rounds.
    pub(super) fn is_wide_integer(self) -> bool {
        matches!(self, Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    /// The type with this `datatype` code.
    pub(super) fn of_code(code: i16) -> Result<Self, UnsupportedVoxels> {
        let carrier = NiftiHeader {
            datatype: code,
            ..NiftiHeader::default()
        };
        Ok(match carrier.data_type() {
            Ok(NiftiType::Uint8) => Self::U8,
            Ok(NiftiType::Int8) => Self::I8,
            Ok(NiftiType::Int16) => Self::I16,
            Ok(NiftiType::Uint16) => Self::U16,
            Ok(NiftiType::Int32) => Self::I32,
            Ok(NiftiType::Uint32) => Self::U32,
            Ok(NiftiType::Int64) => Self::I64,
            Ok(NiftiType::Uint64) => Self::U64,
            Ok(NiftiType::Float32) => Self::F32,
            Ok(NiftiType::Float64) => Self::F64,
            Ok(NiftiType::Rgb24) => Self::Rgb24,
            Ok(NiftiType::Rgba32) => Self::Rgba32,
            Ok(NiftiType::Complex64 | NiftiType::Complex128 | NiftiType::Complex256) => {
                return Err(UnsupportedVoxels::Complex);
            }
            Ok(NiftiType::Float128) => return Err(UnsupportedVoxels::Float128),
            Err(_) if code == 1 => return Err(UnsupportedVoxels::Bits),
            Err(_) => return Err(UnsupportedVoxels::Unknown(code)),
        })
    }
}
