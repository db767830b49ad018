//! How the program ends: the codes of `flock(1)` and `timeout(1)`, and what is said on the way out.

use std::io;

use libdlock::{Error, ErrorKind};
use serde_json::{Value, json};

/// The answer is no: nothing there, not held, limited, or something to look at.
pub const NO: u8 = 1;

/// The lock was lost while the command ran, or its end came too late: `timeout(1)` says this of a command that it ended.
pub const LOST: u8 = 124;

/// `dlock` itself could not do it.
pub const FAILED: u8 = 125;

/// The command was found and cannot be run.
pub const CANNOT_RUN: u8 = 126;

/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// What a shell makes of a process that a signal has ended.
pub const BY_SIGNAL: u8 = 128;

/// Standard output was closed by its reader; others would have been ended by this signal.
pub const CLOSED_PIPE: u8 = BY_SIGNAL + 13;

/// Why a command of `dlock` did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// What the library says.
    Core(Error),
    /// The arguments, which stand on their own, do not go together.
    Usage(String),
    /// Standard output.
    Output(io::Error),
    /// Ends with this code after this message.
    Code(u8, String),
}

impl Failure {
    pub fn code(&self) -> u8 {
        match self {
            Failure::Core(error) if error.kind() == ErrorKind::Busy => NO,
            Failure::Core(_) | Failure::Usage(_) => FAILED,
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => CLOSED_PIPE,
            Failure::Output(_) => FAILED,
            Failure::Code(code, _) => *code,
        }
    }

    /// `None` when there is nobody to tell.
    pub fn message(&self) -> Option<String> {
        match self {
            Failure::Core(error) => Some(error.to_string()),
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            Failure::Output(error) => Some(format!("cannot write to standard output: {error}")),
            Failure::Usage(message) | Failure::Code(_, message) => Some(message.clone()),
        }
    }

    /// As `--json` has it.
    pub fn to_json(&self) -> Value {
        let Failure::Core(error) = self else {
            let kind = if matches!(self, Failure::Usage(_)) { "INVALID_ARGUMENT" } else { "FAILED" };
            return json!({ "error": { "kind": kind, "message": self.message() } });
        };
        json!({ "error": {
            "kind": error.kind().as_str(),
            "operation": error.op(),
            "name": error.name(),
            "message": error.message(),
            "holder": error.holder(),
            "retryable": error.is_retryable(),
            "retry_after_ms": error.retry_after().map(millis),
        } })
    }
}

/// Times in JSON are whole milliseconds, rounded up, so that nobody comes back too early.
pub fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Core(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}
