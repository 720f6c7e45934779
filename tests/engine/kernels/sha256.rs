//! SHA-256 (FIPS 180-4), so that the hashes in committed PTX are checked without another crate.

/// The first 32 bits of the fractional parts of the `root`-th roots of the first primes.
fn constants<const N: usize>(root: f64) -> [u32; N] {
    let mut out = [0; N];
    let is_prime = |n: &u64| {
        (2..*n)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    for (value, prime) in out.iter_mut().zip((2..).filter(is_prime)) {
        let guess = (prime as f64).powf(1.0 / root);
        *value = ((guess - guess.floor()) * 2f64.powi(32)) as u32;
    }
    out
}

/// Lower-case hexadecimal digits.
pub fn hex(message: &[u8]) -> String {
    let k = constants::<64>(3.0);
    let mut h = constants::<8>(2.0);
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes(bytes.try_into().unwrap());
        }
        for t in 16..64 {
            let [a, b] = [w[t - 15], w[t - 2]];
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w[t] = [w[t - 16], s0, w[t - 7], s1]
                .iter()
                .fold(0, |sum, x| sum.wrapping_add(*x));
        }
        let mut v = h;
        for t in 0..64 {
            let [a, b, c, _, e, f, g, last] = v;
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let t1 = [last, s1, choice, k[t], w[t]]
                .iter()
                .fold(0u32, |sum, x| sum.wrapping_add(*x));
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0).wrapping_add(majority);
        }
        for (sum, value) in h.iter_mut().zip(v) {
            *sum = sum.wrapping_add(value);
        }
    }
    h.iter().map(|word| format!("{word:08x}")).collect()
}
