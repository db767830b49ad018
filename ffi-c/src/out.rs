//! Pointers of the caller that an answer is written through.

use libdlock::Result;

use crate::error::refuse;

/// Where a call writes its answer: checked before the operation begins, written when it has succeeded. So a bad pointer
/// never costs an answer, and an out parameter is written only on success.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// As the header says: `pointer` is NULL or writable during the call.
    pub(crate) unsafe fn required(pointer: *mut T, what: &str, op: &'static str) -> Result<Self> {
        if pointer.is_null() {
            return Err(refuse(op, format!("{what} is NULL: there is nowhere to put the answer")));
        }
        Ok(Self(pointer))
    }

    pub(crate) fn put(self, value: T) {
        // SAFETY: not null, and writable by the promise given to `required`. `write_unaligned`, and without dropping what
        // was there: the caller's memory may hold anything.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// A struct whose first field is its size as the caller was compiled with. New fields only ever go to the end, so a caller
/// with a larger struct is newer than this library and is served too, one with a smaller struct is not a caller of it.
///
/// # Safety
/// As the header says: `pointer` is NULL or readable for the size that it begins with.
pub(crate) unsafe fn sized<T: Copy>(pointer: *const T, what: &str, op: &'static str) -> Result<T> {
    // SAFETY: passed on.
    unsafe { check_size(pointer, what, op)? };
    // SAFETY: not null and large enough, as just checked.
    Ok(unsafe { pointer.read_unaligned() })
}

/// As [`sized`], for a struct to write: all but its size is written.
///
/// # Safety
/// As [`sized`], and writable.
pub(crate) unsafe fn sized_out<T>(pointer: *mut T, what: &str, op: &'static str) -> Result<SizedOut<T>> {
    // SAFETY: passed on.
    let size = unsafe { check_size(pointer, what, op)? };
    Ok(SizedOut { pointer, size })
}

pub(crate) struct SizedOut<T> {
    pointer: *mut T,
    size: usize,
}

impl<T> SizedOut<T> {
    pub(crate) fn put(self, value: T) {
        // SAFETY: not null, writable, at least as large as `T` (all checked by `sized_out`). Its first field is a size.
        unsafe {
            self.pointer.write_unaligned(value);
            self.pointer.cast::<usize>().write_unaligned(self.size);
        }
    }
}

/// As [`sized_out`], for an array whose elements are as large as its first one says.
///
/// # Safety
/// As [`sized_out`], for each element that is written.
pub(crate) unsafe fn sized_array<T>(start: *mut T, what: &str, op: &'static str) -> Result<SizedArray<T>> {
    // SAFETY: passed on.
    let size = unsafe { check_size(start, what, op)? };
    Ok(SizedArray { start, size })
}

pub(crate) struct SizedArray<T> {
    start: *mut T,
    size: usize,
}

impl<T> SizedArray<T> {
    pub(crate) fn put_each(self, values: impl Iterator<Item = T>) {
        let Self { start, size } = self;
        for (at, value) in values.enumerate() {
            // SAFETY: the array has elements of that size, as many as are written by the caller's promise.
            SizedOut { pointer: unsafe { start.byte_add(at * size) }, size }.put(value);
        }
    }
}

/// Writes all of `values` to the caller's array, which has room for `len`; none of them when it has less.
///
/// # Safety
/// As the header says: `start` is NULL or writable for `len` values.
pub(crate) unsafe fn put_each<T>(
    start: *mut T,
    len: usize,
    values: impl ExactSizeIterator<Item = T>,
    op: &'static str,
) -> Result<()> {
    if start.is_null() || len < values.len() {
        return Err(refuse(op, format!("an array of {len} at {start:p} is too small for {}", values.len())));
    }
    for (at, value) in values.enumerate() {
        // SAFETY: not null, and `at` is below `len`, for which it is writable by the promise.
        unsafe { start.add(at).write_unaligned(value) }
    }
    Ok(())
}

unsafe fn check_size<T>(pointer: *const T, what: &str, op: &'static str) -> Result<usize> {
    if pointer.is_null() {
        return Err(refuse(op, format!("{what} is NULL")));
    }
    // SAFETY: not null, and every such struct begins with its size.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    if !(size_of::<T>()..=1 << 20).contains(&size) {
        let message =
            format!("{what}.struct_size is {size}; begin with its _INIT macro, which says {}", size_of::<T>());
        return Err(refuse(op, message));
    }
    Ok(size)
}
