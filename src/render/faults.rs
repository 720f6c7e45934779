//! Errors that a graphics device reports outside of calls. Without a receiver wgpu ends the program at the first one.

use super::offscreen::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// The first error of a device since the last call of [`Faults::take_error`].
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<Option<String>>>);

impl Faults {
    /// Receives the errors of this device from now on, replacing any other receiver.
    pub fn watch(device: &wgpu::Device) -> Self {
        let faults = Self::default();
        let shared = faults.clone();
        device.on_uncaptured_error(Arc::new(move |error| shared.add(&error)));
        faults
    }

    fn add(&self, error: &wgpu::Error) {
        log::error!("{error}");
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| error_text(error));
    }

    /// Returns the error instead of a picture drawn meanwhile, which is not the requested one.
    pub fn or_error<R>(&self, picture: Result<R, Error>) -> Result<R, Error> {
        match self.take_error() {
            Some(why) => Err(Error::Lost(why)),
            None => picture,
        }
    }

    /// Returns the error and clears it.
    pub fn take_error(&self) -> Option<String> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }
}

/// The result of `make`, and the first error of the device during it.
pub(super) fn capture_errors<R>(
    device: &wgpu::Device,
    make: impl FnOnce() -> R,
) -> (R, Option<String>) {
    use wgpu::ErrorFilter::{Internal, Validation};
    let [outer, inner] = [Internal, Validation].map(|filter| device.push_error_scope(filter));
    let value = make();
    let [inner, outer] = [inner, outer].map(|scope| pollster::block_on(scope.pop()));
    (value, inner.or(outer).map(|error| error_text(&error)))
}

/// One line, to be put in brackets: the error and its causes.
fn error_text(error: &wgpu::Error) -> String {
    const MAXIMUM_CHARACTERS: usize = 300;
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && *line != "Caused by:")
        .collect();
    let line = lines.join(", ");
    match line.char_indices().nth(MAXIMUM_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
