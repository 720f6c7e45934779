//! Checks whether films (MP4) are complete. The program that makes them may report success although the disk was
//! full.

use super::disk::File;
use std::io::{Read as _, Result, Seek as _, SeekFrom};
use std::path::Path;

/// Whether the boxes of a file (ISO/IEC 14496-12) end where it ends and include those that every player needs.
pub fn is_whole(path: &Path) -> Result<bool> {
    let mut file = File::open(path)?;
    let end = file.seek(SeekFrom::End(0))?;
    let (mut at, mut needed) = (0, vec![*b"ftyp", *b"moov", *b"mdat"]);
    while at < end {
        if end - at < 8 {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(at))?;
        let mut head = [0; 8];
        file.read_exact(&mut head)?;
        let [a, b, c, d, kind @ ..] = head;
        let length = match u32::from_be_bytes([a, b, c, d]) {
            // The box extends to the end of the file.
            0 => end - at,
            // A 64-bit length follows.
            1 if end - at >= 16 => {
                let mut long = [0; 8];
                file.read_exact(&mut long)?;
                u64::from_be_bytes(long)
            }
            length => length.into(),
        };
        if length < 8 || length > end - at {
            return Ok(false);
        }
        needed.retain(|needed_kind| *needed_kind != kind);
        at += length;
    }
    Ok(needed.is_empty())
}
