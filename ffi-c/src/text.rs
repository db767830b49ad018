//! Texts that cross: into buffers of fixed size, out of pointers with a length.

use std::ffi::c_char;
use std::time::Duration;

use libdlock::{Error, ErrorKind, Result};

/// No URL or option is longer. What claims to be is a wild length, and is refused before it is read.
const TEXT_MAX: usize = 64 * 1024;
/// Refused by its length alone; core says why in its own words for what is not absurd.
const NAME_MAX: usize = 64 * 1024;

/// Whether a text fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    Whole,
    Cut,
}

/// Writes `text` and a NUL into `buffer`, cut at a character's boundary when it is too long.
pub(crate) fn fill(buffer: &mut [c_char], text: &str) -> Text {
    let mut end = text.len().min(buffer.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (place, byte) in buffer.iter_mut().zip(text.as_bytes()[..end].iter().chain(&[0])) {
        *place = *byte as c_char;
    }
    if end == text.len() { Text::Whole } else { Text::Cut }
}

/// The bytes at `pointer`. NULL is allowed for no bytes.
///
/// # Safety
/// As the header says: `pointer` is readable for `len` bytes during the call.
pub(crate) unsafe fn bytes<'a>(pointer: *const c_char, len: usize, what: &str, op: &'static str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    let refuse = |why: String| Err(Error::new(ErrorKind::InvalidArgument, op, why));
    if pointer.is_null() {
        return refuse(format!("the {what} is NULL with a length of {len}"));
    }
    if len > TEXT_MAX {
        let what = format_args!("the {what} has {len} bytes");
        return Err(Error::refused(ErrorKind::InvalidArgument, op, what, format!("at most {TEXT_MAX} bytes")));
    }
    // SAFETY: not null, of a sane length, and readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), len) })
}

/// The bytes of a name. One that is far too long is an invalid name, like one that is a little too long.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn name<'a>(pointer: *const c_char, len: usize, op: &'static str) -> Result<&'a [u8]> {
    if len > NAME_MAX {
        let what = format_args!("the name has {len} bytes");
        return Err(Error::refused(ErrorKind::InvalidName, op, what, "1 to 512 bytes of UTF-8 without NUL"));
    }
    // SAFETY: passed on.
    unsafe { bytes(pointer, len, "name", op) }
}

/// The text at `pointer`.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text(pointer: *const c_char, len: usize, what: &str, op: &'static str) -> Result<String> {
    // SAFETY: passed on.
    let bytes = unsafe { bytes(pointer, len, what, op)? };
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, op, format!("the {what} is no UTF-8")))?;
    Ok(text.to_owned())
}

/// Copies `text` and a NUL to the `size` bytes at `buffer`.
///
/// # Safety
/// As the header says: `buffer` is NULL or writable for `size` bytes.
pub(crate) unsafe fn copy(buffer: *mut c_char, size: usize, text: &str, op: &'static str) -> Result<()> {
    if buffer.is_null() || size <= text.len() {
        let message = format!("a buffer of {size} bytes at {buffer:p} is too small for {} and a NUL", text.len());
        return Err(Error::new(ErrorKind::InvalidArgument, op, message));
    }
    // SAFETY: writable for more than `text.len()` bytes, and a text of ours does not overlap the caller's buffer.
    unsafe {
        buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}

/// Whole milliseconds, rounded down.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(size: usize, text: &str) -> (Vec<u8>, Text) {
        let mut buffer = vec![7; size];
        let fitted = fill(&mut buffer, text);
        (buffer.into_iter().map(|byte| byte as u8).collect(), fitted)
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_always_ends_with_a_nul() {
        assert_eq!(filled(4, "abc"), (b"abc\0".to_vec(), Text::Whole));
        assert_eq!(filled(4, "abcd"), (b"abc\0".to_vec(), Text::Cut));
        assert_eq!(filled(4, "ab\u{e9}"), (b"ab\0\x07".to_vec(), Text::Cut));
        assert_eq!(filled(1, "a"), (b"\0".to_vec(), Text::Cut));
        assert_eq!(filled(3, ""), (b"\0\x07\x07".to_vec(), Text::Whole));
    }

    #[test]
    fn a_wild_length_is_refused_before_anything_is_read() {
        let pointer = std::ptr::without_provenance(8);
        for len in [usize::MAX, isize::MAX as usize, TEXT_MAX + 1] {
            // SAFETY: the length is refused, so the pointer is not read.
            let error = unsafe { bytes(pointer, len, "url", "open") }.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            // SAFETY: as above.
            assert_eq!(unsafe { name(pointer, len, "lock") }.unwrap_err().kind(), ErrorKind::InvalidName);
        }
        // SAFETY: null is refused.
        assert!(unsafe { bytes(std::ptr::null(), 1, "url", "open") }.is_err());
        // SAFETY: no byte is read.
        assert!(unsafe { bytes(pointer, 0, "url", "open") }.unwrap().is_empty());
    }
}
