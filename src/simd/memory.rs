//! Hints to the processor about memory: only speed depends on them.

use std::mem::MaybeUninit;

/// Of the processor's cache.
const LINE_BYTES: usize = 64;

/// Begins to fetch the cache line in which a value starts, without waiting for it.
#[inline]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value);
    // SAFETY: a prefetch reads nothing that the program could see, and never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Prefetches all cache lines of some values.
#[inline]
pub fn prefetch_all<T>(values: &[T]) {
    let of_a_line = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    values.iter().step_by(of_a_line).for_each(prefetch);
}

/// Asks for memory that is not written yet to be mapped by large pages, if it is a few of them.
/// Random reads then miss the processor's table of pages less often.
#[cfg(target_os = "linux")]
pub fn prefer_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    use rustix::mm::{Advice, madvise};

    const HUGE_BYTES: usize = 2 << 20;
    let bytes = memory.as_mut_ptr_range();
    let start = (bytes.start as usize).next_multiple_of(HUGE_BYTES);
    let length = (bytes.end as usize / HUGE_BYTES * HUGE_BYTES).saturating_sub(start);
    if length == 0 {
        return;
    }
    let first = bytes.start.wrapping_byte_add(start - bytes.start as usize);
    // SAFETY: the range lies within `memory`, which is borrowed, and the advice leaves what is in
    // it as it is. A kernel that does not know it refuses, which changes nothing either.
    let _refused = unsafe { madvise(first.cast(), length, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
pub fn prefer_huge_pages<T>(_memory: &mut [MaybeUninit<T>]) {}
