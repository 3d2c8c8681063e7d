//! What the server names: objects that only say how their name begins, and all of them by uid.

use runtime::Random;

/// The letters of generated names: no vowels, so no words, and nothing that looks alike.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const RANDOM_LENGTH: usize = 5;
const BASE_LENGTH_MAX: usize = 58;

/// A name that begins with `base`.
pub(crate) fn generated(base: &str, random: &Random) -> String {
    let mut end = base.len().min(BASE_LENGTH_MAX);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = base[..end].to_owned();
    for _ in 0..RANDOM_LENGTH {
        let at = random.bits() % LETTERS.len() as u64;
        let letter = usize::try_from(at).ok().and_then(|at| LETTERS.get(at));
        name.push(letter.copied().map_or('x', char::from));
    }
    name
}

/// A random uid (UUID version 4).
pub(crate) fn uid(random: &Random) -> String {
    let (high, low) = (random.bits(), random.bits());
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
