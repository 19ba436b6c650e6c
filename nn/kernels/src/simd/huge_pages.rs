//! Huge pages (Linux on x86-64): they reduce TLB misses on random access.

/// An empty vector with capacity `count`, on huge pages where the system has them.
#[must_use]
pub fn with_capacity<T>(count: usize) -> Vec<T> {
    let list = Vec::with_capacity(count);
    advise(list.as_ptr(), list.capacity() * size_of::<T>());
    list
}

/// `count` zeros, on huge pages where the system has them; None if it has no memory for them. Pages are allocated at
/// first touch.
#[must_use]
pub fn zeros(count: usize) -> Option<Vec<[u64; 2]>> {
    // A refusal must be returned; `vec!` would abort the process.
    Vec::<[u64; 2]>::new().try_reserve_exact(count).ok()?;
    let list = vec![[0; 2]; count];
    advise(list.as_ptr(), size_of_val(list.as_slice()));
    Some(list)
}

/// Advises huge pages for the whole pages of this range.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn advise<T>(start: *const T, bytes: usize) {
    const PAGE: usize = 4096;
    let (first, end) = (start.addr().next_multiple_of(PAGE), (start.addr() + bytes) / PAGE * PAGE);
    if let Some(length) = end.checked_sub(first).filter(|length| *length > 0) {
        // SAFETY: the range lies inside the vector's own allocation; MADV_HUGEPAGE changes its backing, never
        // its content, and its failure has no effect.
        unsafe {
            let whole = start.cast::<u8>().wrapping_add(first - start.addr());
            libc::madvise(whole.cast_mut().cast(), length, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn advise<T>(_: *const T, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_size_have_their_room_and_keep_what_they_are_given() {
        for count in [0, 1, 100, 4096, 3 << 20] {
            let mut list: Vec<u16> = with_capacity(count);
            assert!(list.is_empty() && list.capacity() >= count);
            list.extend((0..count).map(|at| at as u16));
            assert!(list.iter().enumerate().all(|(at, value)| *value == at as u16));
        }
        assert!(with_capacity::<()>(5).is_empty());
        assert!(zeros(1 << 16).is_some_and(|list| list == vec![[0; 2]; 1 << 16]));
        assert_eq!(zeros(usize::MAX / 16), None);
    }
}
