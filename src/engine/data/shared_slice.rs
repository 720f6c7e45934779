//! Large arrays stored once: in memory, or in a memory-mapped file.

use bytemuck::Pod;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes with a fixed address, such as those of a mapped file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An immutable array whose clones share it.
#[derive(Clone)]
pub struct Shared<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Owned(Arc<Vec<T>>),
    Slice(Arc<[T]>),
    /// A part of the bytes that is aligned for `T` and holds a whole number of values.
    View(Arc<(Bytes, Range<usize>)>),
}

impl<T: Pod> Shared<T> {
    /// The values in a range of bytes, in native byte order; `None` if they are not aligned, are cut, or lie outside.
    pub fn view(bytes: Bytes, range: Range<usize>) -> Option<Self> {
        let part = (*bytes).as_ref().get(range.clone())?;
        bytemuck::try_cast_slice::<u8, T>(part).ok()?;
        Some(Self(Storage::View(Arc::new((bytes, range)))))
    }
}

impl<T> Shared<T> {
    /// Whether the values are those of mapped bytes.
    pub fn is_view(&self) -> bool {
        matches!(self.0, Storage::View(_))
    }

    /// Whether no clone shares it.
    pub fn is_unshared(&self) -> bool {
        1 == match &self.0 {
            Storage::Owned(values) => Arc::strong_count(values),
            Storage::Slice(values) => Arc::strong_count(values),
            Storage::View(view) => Arc::strong_count(view),
        }
    }
}

impl<T: Pod> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(values) => values,
            Storage::Slice(values) => values,
            // `view` has checked the alignment; the bytes do not move.
            Storage::View(view) => {
                let (bytes, range) = &**view;
                bytemuck::cast_slice(&(**bytes).as_ref()[range.clone()])
            }
        }
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Storage::Owned(Arc::default()))
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Storage::Owned(Arc::new(values)))
    }
}

impl<T> From<Arc<[T]>> for Shared<T> {
    fn from(values: Arc<[T]>) -> Self {
        Self(Storage::Slice(values))
    }
}

impl<T: Clone> From<&[T]> for Shared<T> {
    fn from(values: &[T]) -> Self {
        values.to_vec().into()
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Pod + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
