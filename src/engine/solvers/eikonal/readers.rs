//! Who reads what through long offsets.

/// Of each brick the bricks that read some of it, and a bit for each part of it (a row, a cell) that they
/// read.
pub struct Readers(Vec<Vec<(u32, u64)>>);

impl Readers {
    pub fn new(bricks: usize) -> Self {
        Self(vec![Vec::new(); bricks])
    }

    /// A brick reads part of another. Readers come in order, one after the other.
    pub fn add(&mut self, read: u32, part: usize, reader: u32) {
        let bit = 1 << part;
        // A known reader is the last.
        match self.0[read as usize].last_mut() {
            Some((known, parts)) if *known == reader => *parts |= bit,
            _ => self.0[read as usize].push((reader, bit)),
        }
    }

    pub fn of_bricks(self) -> impl Iterator<Item = Vec<(u32, u64)>> {
        self.0.into_iter()
    }
}
