//! Plain numbers in memory order, which other programs pass to benchmarks.

use super::{Error, atomic, disk};
use bytemuck::{NoUninit, Pod};
use std::io::Write as _;
use std::path::Path;

/// Reads a whole file of numbers in native byte order.
pub fn read<T: Pod>(path: &Path) -> Result<Vec<T>, Error> {
    let bytes = disk::read(path).map_err(|e| Error::reading(path, &e))?;
    if bytes.len() % size_of::<T>() != 0 {
        return Err(Error::malformed(
            path,
            format!("{} bytes", bytes.len()),
            format!("a multiple of {}", size_of::<T>()),
        ));
    }
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}

/// Writes the bytes of the numbers without a header, and reads them back.
pub fn write<T: NoUninit>(path: &Path, values: &[T]) -> Result<(), Error> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    atomic::write_verified(
        path,
        |file| Ok(file.write_all(bytes)?),
        |written| match disk::read(written) {
            Ok(stored) if stored == bytes => Ok(()),
            _ => Err(atomic::ReadBackDifference::Array),
        },
    )
}
