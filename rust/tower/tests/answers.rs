//! What clients are answered, with axum and a real server.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use axum::routing::get;
use http_body_util::BodyExt;
use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Rate, RateLimiter};
use libdlock_testkit::Server;
use libdlock_tower::{PeerAddress, RateLimitLayer};
use tower::ServiceExt;

const MINUTE: Duration = Duration::from_secs(60);

async fn limiter(server: &Server, name: &str, tokens: u64, absent: Absent) -> RateLimiter {
    let url = format!("{}/?response_timeout=200ms&operation_timeout=400ms", server.url());
    let client = Client::connect(&url).await.expect("connected");
    let mut options = LimiterOptions::new(Rate::new(tokens, MINUTE));
    options.absent = absent;
    client.rate_limiter_with(name, options).expect("a limiter")
}

fn app(layer: RateLimitLayer) -> Router {
    Router::new().route("/", get(|| async { "ok" })).layer(layer)
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }
}

async fn ask(app: &Router, request: Request<Body>) -> Answer {
    let response = app.clone().oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).expect("UTF-8") }
}

fn request() -> Request<Body> {
    Request::new(Body::empty())
}

fn of_user(user: &str) -> Request<Body> {
    Request::builder().header("x-user", user).body(Body::empty()).expect("a request")
}

fn user(request: &axum::http::request::Parts) -> Option<String> {
    Some(request.headers.get("x-user")?.to_str().ok()?.to_owned())
}

#[tokio::test]
async fn a_refused_request_is_told_when_to_come_again() {
    let server = Server::start();
    let app = app(RateLimitLayer::new(limiter(&server, "api", 2, Absent::Fail).await));
    for left in [1, 0] {
        let answer = ask(&app, request()).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "ok"));
        assert_eq!(answer.field("ratelimit-policy"), Some("\"api\";q=2;w=60"));
        assert!(answer.field("ratelimit").expect("told").starts_with(&format!("\"api\";r={left};t=")));
        assert_eq!(answer.field("retry-after"), None);
    }
    let refused = ask(&app, request()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.field("content-type"), Some("application/problem+json"));
    assert_eq!(refused.field("retry-after"), Some("30"));
    assert_eq!(refused.field("ratelimit"), Some("\"api\";r=0;t=60"));
    let problem: serde_json::Value = serde_json::from_str(&refused.body).expect("JSON");
    let said = serde_json::json!({
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "rate limit reached; try again in 30 s",
    });
    assert_eq!(problem, said);
}

#[tokio::test]
async fn each_key_has_tokens_of_its_own() {
    let server = Server::start();
    let app = app(RateLimitLayer::new(limiter(&server, "api", 1, Absent::Fail).await).key(user));
    assert_eq!(ask(&app, of_user("a")).await.status, StatusCode::OK);
    assert_eq!(ask(&app, of_user("b")).await.status, StatusCode::OK);
    assert_eq!(ask(&app, of_user("a")).await.status, StatusCode::TOO_MANY_REQUESTS);
    // Those without one share the limiter's own.
    assert_eq!(ask(&app, request()).await.status, StatusCode::OK);
    assert_eq!(ask(&app, of_user("")).await.status, StatusCode::TOO_MANY_REQUESTS);
    let long = ask(&app, of_user(&"x".repeat(10_000))).await;
    assert_eq!(long.status, StatusCode::BAD_REQUEST);
    assert!(long.field("ratelimit-policy").is_none() && !long.body.contains("xxx"), "{}", long.body);
}

#[tokio::test]
async fn an_address_is_a_key() {
    let server = Server::start();
    let app = app(RateLimitLayer::new(limiter(&server, "api", 1, Absent::Fail).await));
    let from = |address: &str| {
        let mut request = request();
        request.extensions_mut().insert(PeerAddress(address.parse().expect("an address")));
        request
    };
    assert_eq!(ask(&app, from("192.0.2.7:1")).await.status, StatusCode::OK);
    assert_eq!(ask(&app, from("192.0.2.7:2")).await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(ask(&app, from("[2001:db8::1]:1")).await.status, StatusCode::OK);
    assert_eq!(ask(&app, from("[2001:db8::2]:1")).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn axums_address_is_a_key() {
    let server = Server::start();
    let app = app(RateLimitLayer::new(limiter(&server, "api", 1, Absent::Fail).await));
    let from = |address: &str| {
        let address: std::net::SocketAddr = address.parse().expect("an address");
        let mut request = request();
        request.extensions_mut().insert(axum::extract::ConnectInfo(address));
        request
    };
    assert_eq!(ask(&app, from("192.0.2.7:1")).await.status, StatusCode::OK);
    assert_eq!(ask(&app, from("192.0.2.8:1")).await.status, StatusCode::OK);
    assert_eq!(ask(&app, from("192.0.2.8:1")).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn some_requests_cost_more_and_some_nothing() {
    let server = Server::start();
    let layer = RateLimitLayer::new(limiter(&server, "api", 10, Absent::Fail).await)
        .name("search")
        .cost(|request| {
            request.headers.get("x-cost").map_or(1, |cost| cost.to_str().unwrap_or("1").parse().unwrap_or(1))
        })
        .skip(|request| request.headers.contains_key("x-skip"));
    let app = app(layer);
    let with = |name: &str, value: &str| Request::builder().header(name, value).body(Body::empty()).expect("a request");
    let answer = ask(&app, with("x-cost", "8")).await;
    assert!(answer.field("ratelimit").expect("told").starts_with("\"search\";r=2;"), "{:?}", answer.headers);
    assert_eq!(ask(&app, with("x-cost", "3")).await.status, StatusCode::TOO_MANY_REQUESTS);
    let never = ask(&app, with("x-cost", "11")).await;
    assert_eq!((never.status, never.field("retry-after")), (StatusCode::TOO_MANY_REQUESTS, None));
    let skipped = ask(&app, with("x-skip", "yes")).await;
    assert_eq!((skipped.status, skipped.field("ratelimit-policy")), (StatusCode::OK, None));
}

#[tokio::test]
async fn the_policy_decides_while_the_server_is_away() {
    for (absent, status, wait) in [
        (Absent::Fail, StatusCode::SERVICE_UNAVAILABLE, Some("1")),
        (Absent::Deny, StatusCode::TOO_MANY_REQUESTS, Some("30")),
        (Absent::Allow, StatusCode::OK, None),
    ] {
        let mut server = Server::start();
        let app = app(RateLimitLayer::new(limiter(&server, "api", 2, absent).await));
        assert_eq!(ask(&app, request()).await.status, StatusCode::OK);
        server.stop();
        let answer = ask(&app, request()).await;
        assert_eq!(answer.status, status, "{absent:?}: {}", answer.body);
        assert_eq!(answer.field("ratelimit-policy"), Some("\"api\";q=2;w=60"));
        assert_eq!(answer.field("ratelimit"), None, "nobody knows");
        assert_eq!(answer.field("retry-after"), wait, "{absent:?}");
        assert!(!answer.body.contains("127.0.0.1"), "{}", answer.body);
    }
}

#[tokio::test]
async fn two_limiters_are_both_told() {
    let server = Server::start();
    let outer = limiter(&server, "outer", 5, Absent::Fail).await;
    let inner = limiter(&server, "inner", 1, Absent::Fail).await;
    let app = Router::new()
        .route("/", get(|| async { "ok" }))
        .layer(RateLimitLayer::new(inner))
        .layer(RateLimitLayer::new(outer));
    ask(&app, request()).await;
    let refused = ask(&app, request()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.field("ratelimit-policy"), Some("\"inner\";q=1;w=60, \"outer\";q=5;w=60"));
    assert_eq!(refused.field("ratelimit").expect("told").matches(";r=").count(), 2);
}

#[tokio::test]
async fn a_program_answers_in_its_own_words() {
    let server = Server::start();
    let layer = RateLimitLayer::new(limiter(&server, "api", 0, Absent::Fail).await).on_refused(|request, refusal| {
        let mut response = Response::new(Body::from(format!("not now, {}", request.method)));
        *response.status_mut() = refusal.status();
        response
    });
    let app = Router::new().route("/", get(|| async { "ok" })).layer(layer);
    let answer = ask(&app, request()).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::TOO_MANY_REQUESTS, "not now, GET"));
    assert_eq!(answer.field("ratelimit-policy"), Some("\"api\";q=0;w=60"));
}
