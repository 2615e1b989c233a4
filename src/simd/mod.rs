//! The inner loops that vector instructions speed up, and the crate's only unsafe code.
//!
//! What a loop gives does not depend on the [`Level`] that it runs at; tests force each level that
//! the machine has. A loop is one of two kinds:
//!
//! - plain Rust that the compiler vectorises by itself when it may use the instructions: a
//!   [`Loop`], which [`Level::run`] has in a copy for each level;
//! - written out by hand, where the compiler would not get there: [`hash_words`], [`least_values`]
//!   and [`count_shared`].

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, loads and stores, hints on memory"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bytes;
mod distinct;
mod hash;
mod least;
mod letters;
mod memory;
mod portable;
mod shared;
mod words;

use std::sync::LazyLock;

pub use bytes::{count_equal_bytes, equal_words};
pub use distinct::distinct;
pub use hash::{PRIME_2, PRIME_3, SHORT_BYTES_MAX, WordMix};
pub use least::{LINEAR_LANES, LinearFunctions, least_values};
pub use letters::{Class, Letters, Stability};
pub use memory::{prefer_huge_pages, prefetch, prefetch_all};
pub use shared::count_shared;
pub use words::hash_words;

/// Which instructions may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// A loop that the compiler vectorises. `run` must be `#[inline(always)]`, or it would be compiled
/// once, for the plainest of processors. So may be a closure that it hands to the library: what is
/// to be fast is a `for`.
pub trait Loop {
    type Output;
    fn run(self) -> Self::Output;
}

impl Level {
    /// The highest that this machine has.
    #[must_use]
    #[inline]
    pub fn best() -> Self {
        static BEST: LazyLock<Level> =
            LazyLock::new(|| Level::available().pop().expect("one works everywhere"));
        *BEST
    }

    /// All that this machine has, the highest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self(Instructions::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if avx2::is_available() {
                levels.push(Self(Instructions::Avx2));
            }
            if avx512::is_available() {
                levels.push(Self(Instructions::Avx512));
            }
        }
        levels
    }

    #[inline]
    pub fn run<L: Loop>(self, work: L) -> L::Output {
        match self.0 {
            Instructions::Portable => work.run(),
            // SAFETY: a level is only made if the machine has its instructions.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { avx2::run(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { avx512::run(work) },
        }
    }
}

#[cfg(test)]
mod tests;
