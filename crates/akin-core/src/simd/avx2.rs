//! 32 bytes in a register.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_set1_epi64x, _mm256_slli_epi16, _mm256_storeu_si256,
};

use super::Loop;
use super::portable::push_edges;
use super::words::{AsciiBlock, BLOCK_BYTES, WordScan};

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
pub(super) fn mark(scan: &mut WordScan<'_>) {
    let mut padded = [0; BLOCK_BYTES];
    let cases = _mm256_set1_epi64x(scan.cases().cast_signed());
    while let Some(block) = scan.next_block(&mut padded) {
        let mut folded = *block;
        let (halves, _) = folded.as_chunks_mut();
        let [low, high] = halves else { unreachable!("64 bytes are two halves of 32") };
        let [low, high] = [low, high].map(|half| read(half, cases));
        let joined = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let word = joined(low.word, high.word);
        let leads = joined(low.leads, high.leads);
        let apostrophes = joined(low.apostrophes, high.apostrophes);
        let edges = scan.take(block, &AsciiBlock { folded, word, leads, apostrophes });
        push_edges(&edges, scan);
    }
}

/// The [`AsciiBlock`] data of half a block.
struct Half {
    word: u32,
    leads: u32,
    apostrophes: u32,
}

/// Classifies the bytes, and lowercases ASCII letters where `cases` has bits.
#[target_feature(enable = "avx2")]
#[inline]
fn read(half: &mut [u8; 32], cases: __m256i) -> Half {
    // SAFETY: reads 32 bytes, at any alignment, of an array of 32 bytes.
    let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
    let case_bit = _mm256_set1_epi8(0x20);
    let letters = within::<b'a', 26>(_mm256_or_si256(bytes, case_bit));
    let digits = within::<b'0', 10>(bytes);
    let lowered = _mm256_and_si256(_mm256_and_si256(letters, cases), case_bit);
    // SAFETY: writes 32 bytes, at any alignment, to an array of 32 bytes.
    unsafe {
        _mm256_storeu_si256(half.as_mut_ptr().cast(), _mm256_or_si256(bytes, lowered));
    }
    let word = _mm256_movemask_epi8(_mm256_or_si256(letters, digits));
    // The highest bit is set in non-ASCII bytes, and the next bit in the first byte of a character.
    let leads = _mm256_movemask_epi8(_mm256_and_si256(bytes, _mm256_slli_epi16::<1>(bytes)));
    let apostrophes =
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\''.cast_signed())));
    Half {
        word: word.cast_unsigned(),
        leads: leads.cast_unsigned(),
        apostrophes: apostrophes.cast_unsigned(),
    }
}

/// All bits of each byte in `FIRST..FIRST + COUNT`. Comparisons are signed, so this range is moved
/// to the highest numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn within<const FIRST: u8, const COUNT: u8>(bytes: __m256i) -> __m256i {
    let moved = _mm256_add_epi8(
        bytes,
        _mm256_set1_epi8(i8::MAX.wrapping_sub((FIRST + COUNT - 1).cast_signed())),
    );
    _mm256_cmpgt_epi8(moved, _mm256_set1_epi8(i8::MAX.wrapping_sub(COUNT.cast_signed())))
}
