//! The layer: a limiter, whose tokens a request needs, and how many.

use std::fmt;
use std::sync::Arc;

use http::Response;
use http::request::Parts;
use libdlock::RateLimiter;
use tower_layer::Layer;

use crate::fields::Fields;
use crate::key;
use crate::problem::{Problem, Refusal};
use crate::service::RateLimit;

type Of<T> = Arc<dyn Fn(&Parts) -> T + Send + Sync>;

/// Limits the requests of a service by a [`RateLimiter`]. See the [crate] for an example.
#[derive(Clone)]
pub struct RateLimitLayer<A = Problem> {
    pub(crate) limiter: RateLimiter,
    pub(crate) key: Of<Option<String>>,
    pub(crate) cost: Of<u64>,
    pub(crate) skip: Of<bool>,
    pub(crate) fields: Arc<Fields>,
    pub(crate) refused: A,
}

impl RateLimitLayer {
    /// One token for each request, of the client's address: all addresses of an IPv6 network of 64 bits together, and all
    /// requests whose address is not known.
    pub fn new(limiter: RateLimiter) -> RateLimitLayer {
        let fields = Arc::new(Fields::new(limiter.name(), limiter.rates()));
        let (key, cost, skip) = (Arc::new(key::of_address), Arc::new(|_: &_| 1), Arc::new(|_: &_| false));
        RateLimitLayer { limiter, key, cost, skip, fields, refused: Problem }
    }
}

impl<A> RateLimitLayer<A> {
    /// Whose tokens a request needs, such as a user's id. All requests for which it is `None` or empty share the limiter's own.
    ///
    /// Keys stand in the names of the server's keys: hash what is secret. One that makes the limiter's name longer than 512
    /// bytes, or is none for another reason, is answered with 400. When the function panics, so does the service.
    #[must_use]
    pub fn key(mut self, key: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.key = Arc::new(key);
        self
    }

    /// How many tokens a request needs. With 0 it passes while there is one, and spends none.
    #[must_use]
    pub fn cost(mut self, cost: impl Fn(&Parts) -> u64 + Send + Sync + 'static) -> Self {
        self.cost = Arc::new(cost);
        self
    }

    /// Which requests need none, such as health checks. They get no fields either.
    #[must_use]
    pub fn skip(mut self, skip: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.skip = Arc::new(skip);
        self
    }

    /// What clients read in `RateLimit-Policy`, instead of the limiter's name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.fields = Arc::new(Fields::new(name, self.limiter.rates()));
        self
    }

    /// Answers a refused request in another way than by a [`Problem`]: a function of the request and the [`Refusal`]. The fields
    /// of the limit are added to what it answers.
    ///
    /// ```
    /// # fn with(limiter: libdlock::RateLimiter) {
    /// use axum::body::Body;
    /// use axum::http::Response;
    /// use libdlock_tower::RateLimitLayer;
    ///
    /// let layer = RateLimitLayer::new(limiter).on_refused(|_, refusal| {
    ///     let mut response = Response::new(Body::from("slow down"));
    ///     *response.status_mut() = refusal.status();
    ///     response
    /// });
    /// # drop(layer) }
    /// ```
    #[must_use]
    pub fn on_refused<B, F>(self, answer: F) -> RateLimitLayer<F>
    where
        F: Fn(&Parts, &Refusal) -> Response<B>,
    {
        let RateLimitLayer { limiter, key, cost, skip, fields, refused: _ } = self;
        RateLimitLayer { limiter, key, cost, skip, fields, refused: answer }
    }
}

impl<S, A: Clone> Layer<S> for RateLimitLayer<A> {
    type Service = RateLimit<S, A>;

    fn layer(&self, inner: S) -> RateLimit<S, A> {
        RateLimit { inner, layer: self.clone() }
    }
}

impl<A> fmt::Debug for RateLimitLayer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}
