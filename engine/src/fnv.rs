//! The hash FNV-1a with 64 bits: small, and the same on every machine. Not for secrets.

const PRIME: u64 = 0x0100_0000_01b3;

/// A hash of all that was added so far.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv::seeded(0)
    }
}

impl Fnv {
    /// A hash of nothing but a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325 ^ seed)
    }

    /// The hash after a number is added byte by byte, as the hash's authors do.
    #[must_use]
    pub fn with_bytes(self, number: u64) -> Fnv {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        Fnv(number.to_le_bytes().into_iter().fold(self.0, step))
    }

    /// The hash after a number is added in one step. High bits are turned to where the next product
    /// spreads them.
    #[must_use]
    pub fn with_word(self, number: u64) -> Fnv {
        Fnv((self.0 ^ number).wrapping_mul(PRIME).rotate_left(29))
    }

    /// The hash.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_letters_have_the_hash_of_the_reference() {
        let letters = u64::from_le_bytes(*b"foobar!!");
        assert_eq!(Fnv::default().with_bytes(letters).get(), 0x745f_aceb_4ecb_0ede);
    }
}
