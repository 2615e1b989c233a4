//! 64 bytes in a register, with masks.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm256_loadu_si256, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_and_si512, _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask,
    _mm512_cmpge_epu8_mask, _mm512_cmpgt_epu64_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_cvtepu32_epi64, _mm512_extracti32x4_epi32, _mm512_inserti64x2, _mm512_loadu_si512,
    _mm512_mask_mov_epi8, _mm512_maskz_compress_epi8, _mm512_max_epi64, _mm512_mul_epu32,
    _mm512_mullo_epi64, _mm512_or_si512, _mm512_rol_epi64, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi8, _mm512_sub_epi64,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use super::Loop;
use super::hash::{PRIME_1, PRIME_2, SHORT_BYTES_MAX, WordMix};
use super::words::{AsciiBlock, BLOCK_BYTES, WordPlaces, WordScan};

/// Words hashed together.
const LANES: usize = 8;

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

/// Hashes eight words together.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn hash(word_mix: WordMix, words: WordPlaces<'_>, hashes: &mut Vec<u64>) {
    let mix = Mix::new(word_mix);
    let last_start = words.text.len().checked_sub(SHORT_BYTES_MAX).expect("the text has slack");
    let last_start = _mm512_set1_epi64(last_start as i64);
    let count = hashes.len() + words.count;
    let (starts, _) = words.starts.as_chunks::<LANES>();
    let (ends, _) = words.ends.as_chunks::<LANES>();
    let first_numbers = (0..words.count).step_by(LANES);
    for ((starts, ends), first) in starts.iter().zip(ends).zip(first_numbers) {
        let (from, to) = (places(starts), places(ends));
        let bytes = _mm512_sub_epi64(to, from);
        let late = _mm512_cmpgt_epu64_mask(from, last_start);
        assert!(late == 0, "words are of this text");
        // SAFETY: the text has 16 bytes from each start on.
        let (low, high) = unsafe { load(words.text, starts) };
        let mut eight = [0_u64; LANES];
        let mixed = mix.apply(keep(low, bytes, 64), keep(high, bytes, 128));
        // SAFETY: writes 64 bytes, at any alignment, to an array of 8 × 8 bytes.
        unsafe { _mm512_storeu_si512(eight.as_mut_ptr().cast(), mixed) };
        let mut long = _mm512_cmpgt_epu64_mask(bytes, _mm512_set1_epi64(SHORT_BYTES_MAX as i64));
        while long != 0 {
            let lane = long.trailing_zeros() as usize;
            if first + lane < words.count {
                let word = starts[lane] as usize..ends[lane] as usize;
                eight[lane] = word_mix.hash(&words.text[word]);
            }
            long &= long - 1;
        }
        hashes.extend_from_slice(&eight);
    }
    hashes.truncate(count);
}

/// The two halves of the 16 bytes at each place. Scalar loads are faster than a gather on
/// processors with mitigations for Downfall (2022).
///
/// # Safety
/// The text must have 16 bytes from each place on.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
unsafe fn load(text: &[u8], places: &[u32; LANES]) -> (__m512i, __m512i) {
    // SAFETY: reads 16 bytes, at any alignment, which the caller guarantees.
    let load =
        |lane: usize| unsafe { _mm_loadu_si128(text.as_ptr().add(places[lane] as usize).cast()) };
    let four = |first: usize| {
        let four = _mm512_castsi128_si512(load(first));
        let four = _mm512_inserti64x2::<1>(four, load(first + 2));
        let four = _mm512_inserti64x2::<2>(four, load(first + 4));
        _mm512_inserti64x2::<3>(four, load(first + 6))
    };
    let (even, odd) = (four(0), four(1));
    (_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd))
}

/// Eight places, widened to 64 bits.
#[target_feature(enable = "avx512f")]
#[inline]
fn places(places: &[u32; LANES]) -> __m512i {
    // SAFETY: reads 32 bytes, at any alignment, of an array of 8 × 4 bytes.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(places.as_ptr().cast()) })
}

/// Keeps the bytes of the word in a half that begins at bit `bits` − 64 of it.
#[target_feature(enable = "avx512f")]
#[inline]
fn keep(half: __m512i, bytes: __m512i, bits: i64) -> __m512i {
    let idle = _mm512_sub_epi64(_mm512_set1_epi64(bits), _mm512_slli_epi64::<3>(bytes));
    let idle = _mm512_max_epi64(idle, _mm512_setzero_si512());
    // Shifting by 64 or more yields zero.
    _mm512_and_si512(half, _mm512_srlv_epi64(_mm512_set1_epi64(-1), idle))
}

/// [`WordMix`] in eight lanes.
struct Mix {
    keys: [[__m512i; 2]; 2],
    primes: [__m512i; 2],
}

impl Mix {
    #[target_feature(enable = "avx512f")]
    fn new(mix: WordMix) -> Self {
        let spread = |number: u64| _mm512_set1_epi64(number.cast_signed());
        Self { keys: mix.keys.map(|keys| keys.map(spread)), primes: [PRIME_1, PRIME_2].map(spread) }
    }

    /// The steps of [`WordMix::mix`].
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    fn apply(&self, low: __m512i, high: __m512i) -> __m512i {
        let sum = |[low_key, high_key]: [__m512i; 2]| {
            _mm512_add_epi64(keyed_product(low, low_key), keyed_product(high, high_key))
        };
        let ([first, second], [prime_1, prime_2]) = (self.keys, self.primes);
        let h = _mm512_add_epi64(sum(first), _mm512_rol_epi64::<32>(sum(second)));
        let h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64::<32>(h)), prime_2);
        let h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64::<29>(h)), prime_1);
        _mm512_xor_si512(h, _mm512_srli_epi64::<32>(h))
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn keyed_product(half: __m512i, key: __m512i) -> __m512i {
    let numbers = _mm512_add_epi32(half, key);
    _mm512_mul_epu32(numbers, _mm512_srli_epi64::<32>(numbers))
}
