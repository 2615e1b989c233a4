//! Memory hints to the processor, which only affect speed.

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

/// Prefetches all cache lines of some values.
#[inline]
pub fn prefetch_all<T>(values: &[T]) {
    let of_a_line = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    values.iter().step_by(of_a_line).for_each(prefetch);
}
