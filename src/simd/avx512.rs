//! 64 bytes in a register, with masks.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m512i, __mmask8, _mm_loadu_si128, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512,
    _mm512_cmpgt_epu64_mask, _mm512_cmple_epu64_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_loadu_si512, _mm512_mask_i64gather_epi64, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi64, _mm512_max_epi64, _mm512_movepi8_mask, _mm512_mullo_epi64,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
    _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_si512,
};

use super::Loop;
use super::hash::{Hashed, PRIME_1, PRIME_2, PRIME_3, SHORT_BYTES_MAX, WordMix};
use super::runs::{BLOCK_BYTES, Marks, Run};

/// Words hashed at once.
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
pub(super) fn mark(blocks: &[[u8; BLOCK_BYTES]], marks: &mut Marks<'_>) {
    // SAFETY: 64 bytes are read, at any alignment, and 64 there are.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    for block in blocks {
        let changes = marks.changes(in_run(block));
        let found = changes.count_ones() as usize;
        // The numbers of the bytes where something changes, moved together.
        let places = _mm512_maskz_compress_epi8(changes, numbers);
        let mut bytes = [0_u8; BLOCK_BYTES];
        // SAFETY: 64 bytes are written, at any alignment, and 64 there are.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), places) };
        let at = _mm512_set1_epi32(marks.at.cast_signed());
        let (sixteens, _) = bytes.as_chunks();
        let (rooms, _) = marks.boundaries[marks.count..].as_chunks_mut();
        for (room, sixteen) in rooms.iter_mut().zip(sixteens).take(found.div_ceil(16)) {
            widen(sixteen, at, room);
        }
        marks.count += found;
        marks.at += BLOCK_BYTES as u32;
    }
}

/// Adds 16 numbers to `at`.
#[target_feature(enable = "avx512f")]
#[inline]
fn widen(numbers: &[u8; 16], at: __m512i, room: &mut [u32; 16]) {
    // SAFETY: 16 bytes are read, at any alignment, and 16 there are.
    let numbers = unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) };
    let places = _mm512_add_epi32(at, _mm512_cvtepu8_epi32(numbers));
    // SAFETY: 64 bytes are written, at any alignment, and 16 × 4 there are.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), places) };
}

/// A bit for each byte: whether it is an ASCII letter or digit, or not ASCII.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn in_run(block: &[u8; BLOCK_BYTES]) -> u64 {
    // SAFETY: 64 bytes are read, at any alignment, and 64 there are.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let lower = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    let within = |bytes, first: u8, count: i8| {
        let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first.cast_signed()));
        _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count))
    };
    within(lower, b'a', 26) | within(bytes, b'0', 10) | _mm512_movepi8_mask(bytes)
}

/// As [`super::hash_runs`] has it, eight runs at once.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn hash_runs(mix: WordMix, text: &[u8], runs: &[Run], hashed: &mut Hashed) {
    let Some(last_start) = text.len().checked_sub(SHORT_BYTES_MAX) else {
        hashed.others.extend(0..runs.len() as u32);
        return;
    };
    let mix = Mix::new(mix);
    let first_bytes = text.as_ptr();
    let (rooms, _) = hashed.hashes.as_chunks_mut::<LANES>();
    for ((n, runs), room) in runs.chunks(LANES).enumerate().zip(rooms) {
        let valid: __mmask8 = u8::MAX >> (LANES - runs.len());
        // SAFETY: a run is eight bytes, as a lane is, and only as many are read as there are.
        let runs = unsafe { _mm512_maskz_loadu_epi64(valid, runs.as_ptr().cast()) };
        let starts = _mm512_and_si512(runs, _mm512_set1_epi64(i64::from(u32::MAX)));
        let bytes = _mm512_sub_epi64(_mm512_srli_epi64::<32>(runs), starts);
        let loads = valid & _mm512_cmple_epu64_mask(starts, _mm512_set1_epi64(last_start as i64));
        let zero = _mm512_setzero_si512();
        // SAFETY: only lanes are read of which 16 bytes from the start on are in the text.
        let (low, high) = unsafe {
            (
                _mm512_mask_i64gather_epi64::<1>(zero, loads, starts, first_bytes.cast()),
                _mm512_mask_i64gather_epi64::<1>(zero, loads, starts, first_bytes.add(8).cast()),
            )
        };
        let (low, high) = (keep(low, bytes, 64), keep(high, bytes, 128));
        let not_ascii = _mm512_test_epi64_mask(
            _mm512_or_si512(low, high),
            _mm512_set1_epi64(0x8080_8080_8080_8080_u64.cast_signed()),
        );
        let long = _mm512_cmpgt_epu64_mask(bytes, _mm512_set1_epi64(SHORT_BYTES_MAX as i64));
        // SAFETY: 64 bytes are written, at any alignment, and 8 × 8 there are.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), mix.apply(low, high, bytes)) };
        let mut others = valid & (!loads | long | not_ascii);
        while others != 0 {
            hashed.others.push((n * LANES) as u32 + others.trailing_zeros());
            others &= others - 1;
        }
    }
}

/// The first bytes of a half that begins at bit `bits` − 64 of the word.
#[target_feature(enable = "avx512f")]
#[inline]
fn keep(half: __m512i, bytes: __m512i, bits: i64) -> __m512i {
    let idle = _mm512_sub_epi64(_mm512_set1_epi64(bits), _mm512_slli_epi64::<3>(bytes));
    let idle = _mm512_max_epi64(idle, _mm512_setzero_si512());
    // Shifting by 64 or more leaves nothing.
    _mm512_and_si512(half, _mm512_srlv_epi64(_mm512_set1_epi64(-1), idle))
}

/// [`WordMix`] in eight lanes.
struct Mix {
    seed: __m512i,
    case_bits: __m512i,
    primes: [__m512i; 3],
}

impl Mix {
    #[target_feature(enable = "avx512f")]
    fn new(mix: WordMix) -> Self {
        let primes = [PRIME_1, PRIME_2, PRIME_3];
        Self {
            seed: _mm512_set1_epi64(mix.seed.cast_signed()),
            case_bits: _mm512_set1_epi64(mix.case_bits.cast_signed()),
            primes: primes.map(|prime| _mm512_set1_epi64(prime.cast_signed())),
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn lower(&self, half: __m512i) -> __m512i {
        let cases = _mm512_and_si512(_mm512_srli_epi64::<1>(half), self.case_bits);
        _mm512_or_si512(half, cases)
    }

    /// The steps of [`WordMix::mix`].
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    fn apply(&self, low: __m512i, high: __m512i, bytes: __m512i) -> __m512i {
        let [prime_1, prime_2, prime_3] = self.primes;
        let (low, high) = (self.lower(low), self.lower(high));
        let h = _mm512_mullo_epi64(_mm512_xor_si512(low, self.seed), prime_1);
        let h = _mm512_xor_si512(h, _mm512_srli_epi64::<32>(h));
        let h = _mm512_add_epi64(_mm512_xor_si512(h, high), _mm512_mullo_epi64(bytes, prime_3));
        let h = _mm512_mullo_epi64(h, prime_2);
        let h = _mm512_xor_si512(h, _mm512_srli_epi64::<32>(h));
        let h = _mm512_mullo_epi64(h, prime_1);
        _mm512_xor_si512(h, _mm512_srli_epi64::<29>(h))
    }
}
