//! Scripts and what they are called with.

use std::sync::OnceLock;

/// A script: its text in `lua/`, and its SHA-1, by which the server knows it.
pub(crate) struct Script {
    text: &'static str,
    sha1: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(text: &'static str) -> Script {
        Script { text, sha1: OnceLock::new() }
    }

    pub(crate) fn text(&self) -> &'static str {
        self.text
    }

    pub(crate) fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| sha1_smol::Sha1::from(self.text).digest().to_string())
    }
}

/// Keys and arguments of one script call.
#[derive(Default, Debug)]
pub(crate) struct Call {
    pub(crate) keys: Vec<String>,
    pub(crate) args: Vec<String>,
}
