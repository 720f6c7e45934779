//! Where the program computes: the CPU or graphics cards.

pub mod jobs;
