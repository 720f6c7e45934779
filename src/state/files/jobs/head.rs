//! The built-in head.

use crate::compute::{Backend, Control, memory};
use crate::phantom::Demo;

/// Makes the head of a seed; an error is a sentence.
pub fn make(seed: u64, backend: &Backend, control: &Control) -> Result<Demo, String> {
    memory::claim("The built-in head", Demo::bytes()).map_err(|e| e.to_string())?;
    let demo = backend.install(|| Demo::new(seed, control));
    let demo = demo.map_err(|e| e.to_string())?;
    control.begin("Preparing the views", 0);
    demo.dwi.usual_windows();
    demo.t1.usual_windows();
    Ok(demo)
}
