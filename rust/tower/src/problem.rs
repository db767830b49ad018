//! What is answered to a request that does not reach the service.

use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{Response, StatusCode};
use libdlock::{Decision, Error, ErrorKind};

use crate::fields::{Fields, seconds};

/// Why a request did not reach the service below.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The limiter refused it.
    Limited(Decision),
    /// There is no decision: the server is away, the reply was lost, or the key is none that a name may have.
    Undecided(Error),
}

impl Refusal {
    /// 429 for one that was refused; without a decision 400 where the key is at fault, 503 where the same request may succeed
    /// later, else 500.
    pub fn status(&self) -> StatusCode {
        match self {
            Refusal::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Undecided(error) if error.kind() == ErrorKind::InvalidName => StatusCode::BAD_REQUEST,
            Refusal::Undecided(error)
                if error.is_retryable() || matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Closed) =>
            {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Refusal::Undecided(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// One sentence for the client, which tells it nothing of the server.
    fn detail(&self) -> String {
        match (self, self.status()) {
            (Refusal::Limited(Decision { retry_after: Some(wait), .. }), _) => {
                format!("rate limit reached; try again in {} s", seconds(*wait).max(1))
            }
            (Refusal::Limited(_), _) => "rate limit reached; this request can never be granted".to_owned(),
            (_, StatusCode::BAD_REQUEST) => {
                "the key of the rate limit is too long, or has characters that it may not have".to_owned()
            }
            (_, StatusCode::SERVICE_UNAVAILABLE) => "the rate limit cannot be decided now; try again in 1 s".to_owned(),
            _ => "the rate limit cannot be decided".to_owned(),
        }
    }

    /// Adds the fields of a refusal to its answer.
    pub(crate) fn tell<B>(&self, fields: &Fields, response: &mut Response<B>) {
        match self {
            Refusal::Limited(decision) => fields.tell(decision.into(), response.headers_mut()),
            Refusal::Undecided(_) if self.status() == StatusCode::BAD_REQUEST => {}
            Refusal::Undecided(_) => {
                fields.tell_policy(response.headers_mut());
                if self.status() == StatusCode::SERVICE_UNAVAILABLE {
                    response.headers_mut().entry(RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
                }
            }
        }
    }
}

/// What makes the answer to a refused request; see [`RateLimitLayer::on_refused`](crate::RateLimitLayer::on_refused).
pub trait Answer<B> {
    /// The answer. The fields of the limit are added to it.
    fn answer(&self, request: &Parts, refusal: &Refusal) -> Response<B>;
}

impl<B, F: Fn(&Parts, &Refusal) -> Response<B>> Answer<B> for F {
    fn answer(&self, request: &Parts, refusal: &Refusal) -> Response<B> {
        self(request, refusal)
    }
}

/// Answers with a problem as RFC 9457 describes it, `application/problem+json`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Problem;

impl<B: From<String>> Answer<B> for Problem {
    fn answer(&self, _: &Parts, refusal: &Refusal) -> Response<B> {
        let status = refusal.status();
        let title = status.canonical_reason().unwrap_or_default();
        let (number, detail) = (status.as_u16(), refusal.detail());
        let body = format!(r#"{{"type":"about:blank","title":"{title}","status":{number},"detail":"{detail}"}}"#);
        let mut response = Response::new(B::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response
    }
}
