//! The service: asks the limiter, then the service below or nobody.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{Request, Response};
use libdlock::{Decision, Error};
use tower_service::Service;

use crate::layer::RateLimitLayer;
use crate::problem::{Answer, Problem, Refusal};

/// A service behind a limiter; made by [`RateLimitLayer`]. Its body has to be one that a `String` turns into, as axum's and
/// `http_body_util::Full`, unless [`RateLimitLayer::on_refused`] makes it.
///
/// Each request asks the server once. Dropping the future of an answer while it asks may have spent the tokens.
#[derive(Clone, Debug)]
pub struct RateLimit<S, A = Problem> {
    pub(crate) inner: S,
    pub(crate) layer: RateLimitLayer<A>,
}

impl<S, A, RequestBody, ResponseBody> Service<Request<RequestBody>> for RateLimit<S, A>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>> + Clone + Send + 'static,
    S::Future: Send,
    RequestBody: Send + 'static,
    A: Answer<ResponseBody> + Clone + Send + Sync + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        // The one that is ready is called; the clone need not be.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        let (parts, body) = request.into_parts();
        Box::pin(async move {
            if (layer.skip)(&parts) {
                return inner.call(Request::from_parts(parts, body)).await;
            }
            let decision = match layer.decide(&parts).await {
                Ok(decision) if decision.allowed => decision,
                Ok(decision) => return Ok(layer.refuse(&parts, &Refusal::Limited(decision))),
                Err(error) => {
                    // The client is not told, so that somebody is.
                    tracing::warn!(object = layer.limiter.key(), "a request was not decided: {error}");
                    return Ok(layer.refuse(&parts, &Refusal::Undecided(error)));
                }
            };
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            layer.fields.tell((&decision).into(), response.headers_mut());
            Ok(response)
        })
    }
}

impl<A> RateLimitLayer<A> {
    fn refuse<B>(&self, request: &Parts, refusal: &Refusal) -> Response<B>
    where
        A: Answer<B>,
    {
        let mut response = self.refused.answer(request, refusal);
        refusal.tell(&self.fields, &mut response);
        response
    }

    async fn decide(&self, request: &Parts) -> Result<Decision, Error> {
        let cost = (self.cost)(request);
        match (self.key)(request) {
            Some(key) if !key.is_empty() => self.limiter.keyed(&key)?.try_acquire(cost).await,
            _ => self.limiter.try_acquire(cost).await,
        }
    }
}
