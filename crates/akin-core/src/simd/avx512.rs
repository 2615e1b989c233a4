//! 64 bytes in a register, with masks.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask,
    _mm512_cmpge_epu8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_mask_mov_epi8,
    _mm512_maskz_compress_epi8, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_storeu_si512, _mm512_sub_epi8,
};

use super::Loop;
use super::words::{AsciiBlock, BLOCK_BYTES, WordScan};

/// 0, 1, … 63.
static NUMBERS: [u8; BLOCK_BYTES] = {
    let mut numbers = [0; BLOCK_BYTES];
    let mut n = 0;
    while n < BLOCK_BYTES {
        numbers[n] = n as u8;
        n += 1;
    }
    numbers
};

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn run<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn mark(scan: &mut WordScan<'_>) {
    // SAFETY: reads 64 bytes, at any alignment, of an array of 64 bytes.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let cases = scan.cases();
    let mut padded = [0; BLOCK_BYTES];
    while let Some(block) = scan.next_block(&mut padded) {
        // SAFETY: reads 64 bytes, at any alignment, of an array of 64 bytes.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let lower = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        let (letters, digits) = (within(lower, b'a', 26), within(bytes, b'0', 10));
        let lowered = _mm512_mask_mov_epi8(bytes, letters & cases, lower);
        let leads = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(0xc0_u8.cast_signed()));
        let apostrophes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\''.cast_signed()));
        let ascii =
            AsciiBlock { folded: to_bytes(lowered), word: letters | digits, leads, apostrophes };
        let edges = scan.take(block, &ascii);
        let at = _mm512_set1_epi32(edges.at.cast_signed());
        push_places(edges.starts, numbers, at, &mut scan.starts);
        push_places(edges.ends, numbers, at, &mut scan.ends);
    }
}

/// A bit for each byte in `first..first + count`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn within(bytes: __m512i, first: u8, count: i8) -> u64 {
    let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first.cast_signed()));
    _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count))
}

/// The positions of the set bits, compacted.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
#[inline]
fn push_places(bits: u64, numbers: __m512i, at: __m512i, places: &mut Vec<u32>) {
    let count = bits.count_ones() as usize;
    let end = places.len() + count;
    let numbers = _mm512_maskz_compress_epi8(bits, numbers);
    places.extend_from_slice(&widen(_mm512_castsi512_si128(numbers), at));
    if count > 16 {
        places.extend_from_slice(&widen(_mm512_extracti32x4_epi32::<1>(numbers), at));
        places.extend_from_slice(&widen(_mm512_extracti32x4_epi32::<2>(numbers), at));
        places.extend_from_slice(&widen(_mm512_extracti32x4_epi32::<3>(numbers), at));
    }
    places.truncate(end);
}

/// Adds `at` to 16 numbers.
#[target_feature(enable = "avx512f")]
#[inline]
fn widen(numbers: __m128i, at: __m512i) -> [u32; 16] {
    let mut places = [0; 16];
    let sums = _mm512_add_epi32(at, _mm512_cvtepu8_epi32(numbers));
    // SAFETY: writes 64 bytes, at any alignment, to an array of 16 × 4 bytes.
    unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), sums) };
    places
}

#[target_feature(enable = "avx512f")]
#[inline]
fn to_bytes(register: __m512i) -> [u8; BLOCK_BYTES] {
    let mut bytes = [0; BLOCK_BYTES];
    // SAFETY: writes 64 bytes, at any alignment, to an array of 64 bytes.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), register) };
    bytes
}
