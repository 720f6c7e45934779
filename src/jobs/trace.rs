//! A record of what was done and what came of it, for tests and bug reports; written by a thread of
//! its own, so that the window does not wait for the disk.

use crate::compute::thread;
use crate::io::lines::Lines;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

/// Lines go to a file as long as this lives.
pub struct Trace(Sender<String>);

impl Trace {
    pub fn to(path: PathBuf) -> Self {
        let (sender, lines) = channel::<String>();
        let started = thread::start("trace", move || {
            let mut file = match Lines::create(&path) {
                Ok(file) => file,
                Err(error) => return log::warn!("No trace: {error}"),
            };
            for line in lines {
                if let Err(error) = file.add(&line) {
                    return log::warn!("The trace ends: {error}");
                }
            }
        });
        if let Err(sentence) = started {
            log::warn!("No trace: {sentence}");
        }
        Self(sender)
    }

    pub fn line(&self, line: String) {
        // The writer has said why it ended.
        let _ = self.0.send(line);
    }
}
