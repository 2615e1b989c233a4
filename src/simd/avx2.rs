//! 32 bytes in a register.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8,
};

use super::Loop;
use super::runs::{BLOCK_BYTES, Marks};

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn run<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn mark(blocks: &[[u8; BLOCK_BYTES]], marks: &mut Marks<'_>) {
    for block in blocks {
        let (halves, _) = block.as_chunks();
        let [low, high] = [0, 1].map(|half| u64::from(in_run(&halves[half])));
        marks.note(low | high << 32);
    }
}

/// A bit for each byte: whether it is an ASCII letter or digit, or not ASCII.
#[target_feature(enable = "avx2")]
#[inline]
fn in_run(bytes: &[u8; 32]) -> u32 {
    // SAFETY: 32 bytes are read, at any alignment, and 32 there are.
    let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    let lower = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
    let others = _mm256_or_si256(within::<b'a', 26>(lower), within::<b'0', 10>(bytes));
    // The high bit of a byte that is not ASCII is its own mark.
    _mm256_movemask_epi8(_mm256_or_si256(others, bytes)).cast_unsigned()
}

/// All bits of each byte that is one of `COUNT` from `FIRST` on. Comparisons are signed: the bytes
/// wanted are moved to the highest numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn within<const FIRST: u8, const COUNT: u8>(bytes: __m256i) -> __m256i {
    let moved = _mm256_add_epi8(
        bytes,
        _mm256_set1_epi8(i8::MAX.wrapping_sub((FIRST + COUNT - 1).cast_signed())),
    );
    _mm256_cmpgt_epi8(moved, _mm256_set1_epi8(i8::MAX.wrapping_sub(COUNT.cast_signed())))
}
