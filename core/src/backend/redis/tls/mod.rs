//! TLS on both kinds of connection, by rustls: verified against the system's authorities or a file, with a client certificate
//! if there is one. Its errors are told in words of ours.
//!
//! All files are read for each connection, so that what was replaced there counts from the next one on.

#[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "without TLS there is no fault of it"))]
mod fault;

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod any_certificate;
#[cfg(feature = "tls")]
mod files;
#[cfg(feature = "tls")]
mod judge;
#[cfg(feature = "tls")]
mod session;
#[cfg(feature = "tls")]
mod settings;

#[cfg(not(feature = "tls"))]
pub(super) use absent::Tls;
pub(super) use fault::{Fault, Lasts};
#[cfg(feature = "tls")]
pub(super) use settings::Tls;
