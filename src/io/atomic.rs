//! Writing so that nothing is ever lost: a temporary name in the same folder, then a rename.

use super::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write};
use std::path::Path;

/// The first bytes of a file, fewer if it is short; gzip is undone.
pub fn first_bytes(path: &Path, count: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    reader(path)?
        .take(count)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::system("read", path, &e))?;
    Ok(bytes)
}

/// Opens a file for reading; gzip, by its first two bytes, is undone.
pub fn reader(path: &Path) -> Result<Box<dyn std::io::Read>, Error> {
    let system = |e: std::io::Error| Error::system("read", path, &e);
    if path.is_dir() {
        return Err(system(std::io::ErrorKind::IsADirectory.into()));
    }
    let mut file = File::open(path).map_err(system)?;
    let mut magic = [0u8; 2];
    let n = file.read(&mut magic).map_err(system)?;
    std::io::Seek::rewind(&mut file).map_err(system)?;
    let buffered = std::io::BufReader::with_capacity(1 << 18, file);
    if n == 2 && magic == [0x1f, 0x8b] {
        Ok(Box::new(flate2::bufread::MultiGzDecoder::new(buffered)))
    } else {
        Ok(Box::new(buffered))
    }
}

/// Writes a file under a temporary name, syncs it and renames it. If anything fails the temporary
/// file is removed and a file of that name stays as it was.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::content(path, "Not a name for a file"))?;
    let part = format!(".{}.part-{}", name.to_string_lossy(), std::process::id());
    let part = path.with_file_name(part);
    let written = (|| {
        let mut out = BufWriter::with_capacity(1 << 18, File::create(&part)?);
        fill(&mut out)?;
        let file = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&part, path)
    })();
    written.map_err(|e| {
        // Best effort: the error that matters is the one above.
        let _ = fs::remove_file(&part);
        Error::system("write", path, &e)
    })
}

/// Whether a file starts as gzip does.
pub fn is_gzip(path: &Path) -> Result<bool, Error> {
    let mut magic = [0u8; 2];
    let system = |e: std::io::Error| Error::system("read", path, &e);
    let n = File::open(path)
        .map_err(system)?
        .read(&mut magic)
        .map_err(system)?;
    Ok(n == 2 && magic == [0x1f, 0x8b])
}

/// Makes a folder, with those above it.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|e| Error::system("make the folder", path, &e))
}
