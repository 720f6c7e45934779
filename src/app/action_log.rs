//! A record of actions and their results, for tests and bug reports; written by a thread of its own, so that the window
//! does not wait for the disk.

use crate::compute::thread;
use crate::io::lines::Lines;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

/// Writes lines to a file as long as it lives.
pub struct ActionLog(Sender<String>);

impl ActionLog {
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
        // The writer has already reported why it ended.
        let _ = self.0.send(line);
    }
}
