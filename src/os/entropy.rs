//! Real chance, taken once at the start: a seed for every generator that the broker hands down.
//!
//! It must not know what is drawn from it.

use std::io;

/// 32 bytes from the operating system's generator, fit to seed a cryptographic one.
pub fn seed_from_system() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seeds_differ() {
        assert_ne!(seed_from_system().unwrap(), seed_from_system().unwrap());
    }
}
