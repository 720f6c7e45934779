//! The program's allocator, which this binary uses, too.

use crate::support::test;
use arcuate::compute::HugePages;
use libtest_mimic::Trial;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// A size that no other test uses, with its neighbours: freed blocks stay for this test.
const SIZE: usize = 41 << 20;

pub fn tests() -> Vec<Trial> {
    vec![
        test("allocator::a freed block is used again", used_again),
        test(
            "allocator::blocks keep their contents and are apart",
            contents,
        ),
    ]
}

fn filled(size: usize, byte: u8) -> Vec<u8> {
    let mut block = Vec::with_capacity(size);
    block.resize(size, byte);
    block
}

fn used_again() {
    // Other tests may free many blocks in between.
    let is_used_again = || {
        let first = filled(SIZE, 1);
        let address = first.as_ptr();
        drop(first);
        // A result that replaces another is of about its size.
        let second = filled(SIZE + 4096, 2);
        assert!(second.iter().all(|byte| *byte == 2));
        second.as_ptr() == address
    };
    assert!((0..20).any(|_| is_used_again()) || !cfg!(target_os = "linux"));
    // Zeros are zeros, whatever was there.
    let zeros = vec![0u8; SIZE];
    assert!(zeros.iter().all(|byte| *byte == 0));
}

fn contents() {
    let size = 19 << 20;
    let blocks: Vec<Vec<u8>> = (0..24)
        .map(|i| filled(size + i * 100_000, i as u8))
        .collect();
    for (i, block) in blocks.iter().enumerate() {
        assert!(block.iter().all(|byte| *byte == i as u8), "block {i}");
    }
    // More blocks are freed than are kept; what remains is not touched.
    let rest: Vec<(usize, Vec<u8>)> = blocks.into_iter().enumerate().skip(20).collect();
    let fresh: Vec<Vec<u8>> = (0..24).map(|i| filled(size + i * 100_000, 0xFF)).collect();
    for (i, block) in &rest {
        assert!(block.iter().all(|byte| *byte == *i as u8), "block {i}");
    }
    drop(fresh);
    // A block grows from a small size through all others.
    let mut grown = Vec::new();
    for i in 0..6_000_000u64 {
        grown.push(i);
    }
    assert!((0..).zip(&grown).all(|(i, n)| i == *n));
    grown.truncate(1000);
    grown.shrink_to_fit();
    assert!((0..).zip(&grown).all(|(i, n)| i == *n));
}
