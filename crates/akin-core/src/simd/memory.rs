//! Memory hints to the processor, which only affect speed.

use std::mem::MaybeUninit;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Prefetches the cache line in which a value starts.
#[inline]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value);
    // SAFETY: a prefetch has no visible effect and never faults.
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

/// Prefetches the cache line in which a value starts, to be written: no other core keeps it.
#[inline]
pub fn prefetch_write<T>(value: &T) {
    // SAFETY: a prefetch has no visible effect and never faults; processors that do not know the
    // instruction ignore it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        let address = std::ptr::from_ref(value);
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    prefetch(value);
}

/// Prefetches all cache lines of some values.
#[inline]
pub fn prefetch_all<T>(values: &[T]) {
    let of_a_line = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    values.iter().step_by(of_a_line).for_each(prefetch);
}

/// Advises the kernel to map unwritten memory with huge pages, if it spans several of them, which
/// reduces TLB misses of random reads.
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
    // SAFETY: the range lies within `memory`, which is borrowed, and the advice does not change its
    // content. A kernel without support refuses, which is harmless.
    let _refused = unsafe { madvise(first.cast(), length, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
pub fn prefer_huge_pages<T>(_memory: &mut [MaybeUninit<T>]) {}
