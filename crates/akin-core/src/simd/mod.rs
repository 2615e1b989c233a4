//! The inner loops that vector instructions speed up, and the crate's only unsafe code.
//!
//! Results do not depend on the [`Level`]; tests force each level that the processor has. There are
//! two kinds of loops:
//!
//! - plain Rust that the compiler vectorises if it may use the instructions: a [`Loop`], compiled
//!   by [`Level::run`] once for each level;
//! - hand-written intrinsics, where the compiler does not vectorise well: finding the words of
//!   [`hash_words`], and [`equal_words`].

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
mod letters;
mod memory;
mod portable;
mod shared;
mod slots;
mod words;

use std::sync::LazyLock;

pub use bytes::{count_equal_bytes, equal_words};
pub use distinct::distinct;
pub use hash::{PRIME_2, PRIME_3, SHORT_BYTES_MAX, WordMix};
pub(crate) use letters::decode;
pub use letters::{Class, Letters, Stability};
pub use memory::{prefetch, prefetch_all};
pub use shared::count_shared;
pub use slots::find_agreeing;
pub use words::hash_words;

/// The instructions that may be used.
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

/// A loop that the compiler vectorises. `run` must be `#[inline(always)]`, otherwise it would be
/// compiled only for the baseline processor. Closures passed to the standard library may be
/// compiled for it, too, so fast loops are written as `for`.
pub trait Loop {
    /// The result of the loop.
    type Output;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

impl Level {
    /// The highest level of this processor.
    #[inline]
    pub fn best() -> Self {
        static BEST: LazyLock<Level> =
            LazyLock::new(|| Level::available().pop().expect("one works everywhere"));
        *BEST
    }

    /// All levels of this processor, the highest last.
    pub fn available() -> Vec<Self> {
        let levels = [
            (true, Instructions::Portable),
            #[cfg(target_arch = "x86_64")]
            (avx2::is_available(), Instructions::Avx2),
            #[cfg(target_arch = "x86_64")]
            (avx512::is_available(), Instructions::Avx512),
        ];
        levels.into_iter().filter(|level| level.0).map(|level| Self(level.1)).collect()
    }

    /// Runs a loop with the instructions of the level.
    #[inline]
    pub fn run<L: Loop>(self, work: L) -> L::Output {
        match self.0 {
            Instructions::Portable => work.run(),
            // SAFETY: a level exists only if the processor has its instructions.
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
