//! What of a value lies on a graphics card, known only to who put it there.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A form of a value that another module can draw: it knows what it is.
#[derive(Clone)]
pub struct DeviceCopy(Arc<dyn Any + Send + Sync>);

impl DeviceCopy {
    pub fn new(copy: impl Any + Send + Sync) -> Self {
        Self(Arc::new(copy))
    }

    /// Nobody else has it.
    pub fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// `None` where it is something else.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for DeviceCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceCopy")
    }
}
