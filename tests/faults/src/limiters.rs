//! What the hostile tests of limiters share.

use libdlock::Error;
use libdlock::limit::Algorithm;

/// The algorithms with keys of our own.
pub const OWN: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];

/// An error of the limiter `api` that says which object is concerned, and nothing of how the server is asked.
#[track_caller]
pub fn check_words(error: &Error) {
    let text = error.to_string().to_lowercase();
    for alien in ["lua", "script", "attempt to", "stack", "evalsha", "tonumber", "nil"] {
        assert!(!text.contains(alien), "{alien}: {error}");
    }
    assert!(text.contains("api"), "{error}");
}
