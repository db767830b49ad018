//! Who may ask what: no page of another origin may read or do anything here, whatever names it has for this address.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use super::routes::At;
use crate::args::ServeArgs;

/// The header in which a page that this process has served proves it.
const TOKEN: &str = "x-dlock-token";

pub struct Guard {
    /// Host names that are ours, in lower case.
    hosts: Vec<String>,
    /// What a request to release has to bring; `None` when nothing may be released.
    token: Option<String>,
}

impl Guard {
    pub fn new(args: &ServeArgs) -> Guard {
        let mut hosts = vec!["localhost".to_owned()];
        hosts.extend(args.host.iter().map(|host| host.to_lowercase()));
        Guard { hosts, token: args.allow_force.then(|| Uuid::new_v4().simple().to_string()) }
    }

    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether a request was meant for this server. A page that has its own name resolve to our address (DNS rebinding) sends that
    /// name, and never an address.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            Some((name, port)) => (name, port),
            None => host.split_once(':').map_or((host, ""), |(name, _)| (name, &host[name.len()..])),
        };
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        let name = name.to_ascii_lowercase();
        is_port && (name.parse::<IpAddr>().is_ok() || self.hosts.contains(&name))
    }

    /// Why a request may not release anything.
    pub fn refuses(&self, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let Some(token) = self.token() else {
            return Some("this server only reads; start it with --allow-force to release locks from the page");
        };
        // A proxy in front of this may speak TLS.
        let own = |host: &str| {
            text("origin")
                .is_none_or(|origin| ["http://", "https://"].iter().any(|is| origin.strip_prefix(is) == Some(host)))
        };
        if !text("host").is_some_and(own) || text("sec-fetch-site").is_some_and(|site| site != "same-origin") {
            return Some("the request comes from a page of another origin");
        }
        if text("content-type") != Some("application/json") {
            return Some("the request has to be of the type application/json");
        }
        (text(TOKEN) != Some(token)).then_some("the token is not that of the page; load the page again")
    }
}

/// Refuses what is meant for another host, and adds to every answer how it may be used.
pub async fn watch(State(shared): At, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let mut response = match host {
        Some(host) if shared.guard.is_ours(host) => next.run(request).await,
        _ => {
            let message = "this host name is not ours; --host allows it\n";
            (StatusCode::MISDIRECTED_REQUEST, message).into_response()
        }
    };
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    // The page has one of its own.
    response.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_ours_is_refused_and_addresses_are_not() {
        let guard = Guard { hosts: vec!["localhost".to_owned(), "locks.lan".to_owned()], token: None };
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7380", "[::1]:7380", "[::1]", "10.0.0.1", "locks.lan:1"] {
            assert!(guard.is_ours(host), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "locks.lan.", "127.0.0.1.evil", "localhost:x", "[::1", "::1"]
        {
            assert!(!guard.is_ours(host), "{host}");
        }
    }

    #[test]
    fn a_release_needs_the_token_and_our_origin() {
        let guard = Guard { hosts: Vec::new(), token: Some("secret".to_owned()) };
        let right =
            [("host", "h:1"), ("origin", "http://h:1"), ("content-type", "application/json"), (TOKEN, "secret")];
        let headers = |changed: &[(&'static str, &'static str)]| {
            let all = right.iter().chain(changed);
            all.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
        };
        assert_eq!(guard.refuses(&headers(&[])), None);
        let wrong = [
            ("origin", "http://evil"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            (TOKEN, "guess"),
            ("content-type", "text/plain"),
            ("host", "other"),
        ];
        for wrong in wrong {
            // The last of a name is the one that is inserted.
            let mut headers: HeaderMap = headers(&[]);
            headers.insert(HeaderName::from_static(wrong.0), HeaderValue::from_static(wrong.1));
            assert!(guard.refuses(&headers).is_some(), "{wrong:?}");
        }
        let reads = Guard { hosts: Vec::new(), token: None };
        assert!(reads.refuses(&headers(&[])).unwrap().contains("--allow-force"));
    }
}
