//! A copy of a value on a graphics card, opaque to all but its creator.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A form of a value that another module can draw and whose type it knows.
#[derive(Clone)]
pub struct DeviceCopy(Arc<dyn Any + Send + Sync>);

impl DeviceCopy {
    /// Wraps the copy; only code that knows its type can use it.
    pub fn new(copy: impl Any + Send + Sync) -> Self {
        Self(Arc::new(copy))
    }

    /// Whether there is no other handle to it.
    pub fn is_only_handle(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// `None` for any other type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for DeviceCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceCopy")
    }
}
