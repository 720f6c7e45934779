//! Large shared slices.

use bytemuck::Zeroable;
use std::sync::Arc;

/// `n` zeroes that nobody has touched: the operating system provides each page when it is first
/// written, on the thread that writes it.
pub fn zeroed<T: Zeroable>(n: usize) -> Arc<[T]> {
    let slice = Arc::<[T]>::new_zeroed_slice(n);
    // SAFETY: a `Zeroable` type is one for which all-zero bytes are a value.
    #[allow(unsafe_code)]
    unsafe {
        slice.assume_init()
    }
}
