//! Bricks that read others through long offsets.

/// For each brick the bricks that read some of it, with one bit for each part (a row, a cell) that they read.
pub struct Readers(Vec<Vec<(u32, u64)>>);

impl Readers {
    pub fn new(bricks: usize) -> Self {
        Self(vec![Vec::new(); bricks])
    }

    /// Records that a brick reads part of another. Readers are added one after the other, in order.
    pub fn add(&mut self, read: u32, part: usize, reader: u32) {
        let bit = 1 << part;
        // A known reader is always the last.
        match self.0[read as usize].last_mut() {
            Some((known, parts)) if *known == reader => *parts |= bit,
            _ => self.0[read as usize].push((reader, bit)),
        }
    }

    pub fn of_bricks(self) -> impl Iterator<Item = Vec<(u32, u64)>> {
        self.0.into_iter()
    }
}
