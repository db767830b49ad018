//! Rate limits of [libdlock] as a [tower] layer: one limit for all processes of a service, on Redis or Valkey.
//!
//! A request that the limiter refuses is answered with 429 and never reaches the service below; while the server is away, the
//! limiter's [policy](libdlock::limit::Absent) decides. Every answer has the fields `RateLimit-Policy` and `RateLimit`, a refusal
//! `Retry-After` too. The rules are those of all languages of libdlock: see
//! [http.md](https://github.com/libdlock/libdlock/blob/main/docs/http.md).
//!
//! ```
//! use std::time::Duration;
//!
//! use axum::Router;
//! use axum::routing::get;
//! use libdlock::{Client, Rate};
//! use libdlock_tower::RateLimitLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> libdlock::Result<()> {
//! let client = Client::connect("memory://").await?;
//! let limiter = client.rate_limiter("api", Rate::new(100, Duration::from_secs(60)))?;
//! // A hundred a minute for each user, and for all without a name together.
//! let layer = RateLimitLayer::new(limiter).key(|request| {
//!     let user = request.headers.get("x-user")?;
//!     Some(user.to_str().ok()?.to_owned())
//! });
//! let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(layer);
//! # drop(app);
//! # Ok(()) }
//! ```
//!
//! Without a key function each client address has tokens of its own: where [`PeerAddress`] tells it, or with the cargo feature
//! `axum`, `ConnectInfo` of axum. Behind a proxy that is the proxy's address: give a key.
//!
//! [tower]: https://docs.rs/tower

#![forbid(unsafe_code)]

mod fields;
mod key;
mod layer;
mod problem;
mod service;

pub use self::key::PeerAddress;
pub use self::layer::RateLimitLayer;
pub use self::problem::{Answer, Problem, Refusal};
pub use self::service::RateLimit;

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/rust/README.md")]
    struct OfTheLanguage;
    #[doc = include_str!("../../../docs/rust/frameworks.md")]
    struct OfFrameworks;
}
