//! What a grant brings with it, of a kind whose grants do: a job of a queue.

use std::fmt;

/// What came with a grant, as the primitive's step wrote it; only that reads it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// The fencing token of the grant.
    pub(crate) token: u64,
    pub(crate) parts: Vec<Vec<u8>>,
}

/// Not what is in it, which is the caller's.
impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.parts.iter().map(Vec::len).sum();
        f.debug_struct("Parcel").field("token", &self.token).field("bytes", &bytes).finish()
    }
}
