//! Large arrays stored once: in memory, in a memory-mapped file, or on a graphics card until they are needed.

use bytemuck::Pod;
use std::any::Any;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes with a fixed address, such as those of a mapped file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Values that are not in the host's memory before the first call that needs them, such as those that a graphics card
/// computed.
pub trait Late<T>: Send + Sync {
    /// Number of values, known without them.
    fn count(&self) -> usize;

    /// Whether the host has them.
    fn is_on_host(&self) -> bool;

    /// The values, copied to the host by the first call.
    fn values(&self) -> Result<&[T], LateError>;

    /// Itself, for code that knows where the values are.
    fn as_any(&self) -> &dyn Any;
}

/// Why late values cannot be copied.
pub type LateError = Box<dyn std::error::Error + Send + Sync>;

/// An immutable array whose clones share it.
///
/// Late values ([`Late`]) are copied to the host at the first access. Call [`Shared::on_host`] before, which returns an
/// error where an access panics.
#[derive(Clone)]
pub struct Shared<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Owned(Arc<Vec<T>>),
    Slice(Arc<[T]>),
    /// A part of the bytes that is aligned for `T` and holds a whole number of values.
    View(Arc<(Bytes, Range<usize>)>),
    Late(Arc<dyn Late<T>>),
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
    /// Values that are copied when they are needed.
    pub fn late(values: impl Late<T> + 'static) -> Self {
        Self(Storage::Late(Arc::new(values)))
    }

    /// Copies late values to the host, unless they are there.
    pub fn on_host(&self) -> Result<(), LateError> {
        match &self.0 {
            Storage::Late(late) => late.values().map(drop),
            Storage::Owned(_) | Storage::Slice(_) | Storage::View(_) => Ok(()),
        }
    }

    /// Whether the host has the values, so that an access copies nothing.
    pub fn is_on_host(&self) -> bool {
        match &self.0 {
            Storage::Late(late) => late.is_on_host(),
            Storage::Owned(_) | Storage::Slice(_) | Storage::View(_) => true,
        }
    }

    /// Late values of this type, whether or not the host has them.
    pub fn late_as<L: 'static>(&self) -> Option<&L> {
        match &self.0 {
            Storage::Late(late) => late.as_any().downcast_ref(),
            Storage::Owned(_) | Storage::Slice(_) | Storage::View(_) => None,
        }
    }

    /// Whether both are clones of the same array; copies nothing.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Storage::Owned(a), Storage::Owned(b)) => Arc::ptr_eq(a, b),
            (Storage::Slice(a), Storage::Slice(b)) => Arc::ptr_eq(a, b),
            (Storage::View(a), Storage::View(b)) => Arc::ptr_eq(a, b),
            (Storage::Late(a), Storage::Late(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

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
            Storage::Late(late) => Arc::strong_count(late),
        }
    }
}

impl<T: Pod> Shared<T> {
    /// Number of values; copies none.
    pub fn len(&self) -> usize {
        match &self.0 {
            Storage::Late(late) => late.count(),
            Storage::Owned(_) | Storage::Slice(_) | Storage::View(_) => self[..].len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Pod> Deref for Shared<T> {
    type Target = [T];

    /// # Panics
    /// If late values cannot be copied: their card failed.
    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(values) => values,
            Storage::Slice(values) => values,
            // `view` has checked the alignment; the bytes do not move.
            Storage::View(view) => {
                let (bytes, range) = &**view;
                bytemuck::cast_slice(&(**bytes).as_ref()[range.clone()])
            }
            Storage::Late(late) => match late.values() {
                Ok(values) => values,
                Err(error) => panic!("{error}"),
            },
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
