//! What is answered to which request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use clap::ValueEnum;
use libdlock::survey::Kind;
use libdlock::{Client, Error, ErrorKind};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use uuid::Uuid;

use super::guard::{self, Guard};
use super::metrics;
use crate::details::Details;
use crate::exit::Failure;
use crate::live::clients::all;
use crate::live::pick::{Pick, Sort};
use crate::live::{Live, Row, View, json as document};
use crate::out::{say, visible};
use crate::release;

const PAGE: &str = include_str!("page.html");

/// Where the page has what is new each time it is served.
const NONCE: &str = "{{nonce}}";
const TOKEN: &str = "{{token}}";

/// Objects in an answer: as many as are asked for, and no more than this.
const MOST: usize = 1_000;
const USUAL: usize = 200;

/// Waiters of one object.
const WAITERS: usize = 100;

/// Requests that ask the server of their own, at a time.
const ASKING: usize = 4;

/// What a request may bring: a name of 512 bytes, escaped, and its kind.
const BODY: usize = 8 << 10;

/// Time in which a request has to bring its body: as long as its head has, see `HEAD`.
const BRINGING: Duration = Duration::from_secs(5);

/// Time that the server may take for an answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the answers are made from.
pub struct Shared {
    views: watch::Receiver<Arc<View>>,
    clients: watch::Receiver<Option<Client>>,
    asking: Semaphore,
    pub guard: Guard,
}

pub type At = State<Arc<Shared>>;

type Parameters = Query<HashMap<String, String>>;

impl Shared {
    pub fn new(live: &Live, guard: Guard) -> Shared {
        Shared { views: live.views(), clients: live.clients(), asking: Semaphore::new(ASKING), guard }
    }

    fn view(&self) -> Arc<View> {
        self.views.borrow().clone()
    }

    /// The client, when it is this request's turn to ask the server.
    async fn client(&self) -> Result<(Client, tokio::sync::SemaphorePermit<'_>), Wrong> {
        let client = self.clients.borrow().clone();
        let problem = || self.view().problem.clone().unwrap_or_else(|| "there is no server yet".to_owned());
        let client = client.ok_or_else(|| Wrong::new(StatusCode::SERVICE_UNAVAILABLE, &problem()))?;
        let permit = self.asking.acquire().await.map_err(|_| Wrong::new(StatusCode::SERVICE_UNAVAILABLE, "ending"))?;
        Ok((client, permit))
    }
}

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/api/state", get(state))
        .route("/api/object", get(object))
        .route("/api/client", get(client))
        .route("/api/release", post(force))
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .fallback(|| async { Wrong::new(StatusCode::NOT_FOUND, "there is no such page") })
        .layer(DefaultBodyLimit::max(BODY))
        .layer(from_fn_with_state(shared.clone(), guard::watch))
        .with_state(shared)
}

/// The one page. Its script runs by a number that no name of a lock can know.
async fn page(State(shared): At) -> Response {
    let nonce = Uuid::new_v4().simple().to_string();
    let page = PAGE.replace(NONCE, &nonce).replace(TOKEN, shared.guard.token().unwrap_or(""));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    );
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

async fn state(State(shared): At, Query(parameters): Parameters) -> Result<Response, Wrong> {
    let text = |name: &str| parameters.get(name).map_or("", String::as_str);
    let number = |name: &str, usual: usize| match text(name) {
        "" => Ok(usual),
        number => number.parse().map_err(|_| Wrong::parameter(name, "a whole number")),
    };
    let sort = match text("sort") {
        "" => Sort::default(),
        sort => Sort::from_str(sort, false)
            .map_err(|_| Wrong::parameter("sort", "one of name, left, queued, waited, grants and held"))?,
    };
    let kind = match text("kind") {
        "" => None,
        kind => Some(parse_kind(kind)?),
    };
    let pick = Pick { filter: text("filter").to_owned(), kind, sort };
    let range = (number("from", 0)?, number("limit", USUAL)?.min(MOST));
    Ok(json_of(&document::view(&shared.view(), &pick, range)))
}

/// One object, read now.
async fn object(State(shared): At, Query(parameters): Parameters) -> Result<Response, Wrong> {
    let of = |name: &str| parameters.get(name).ok_or_else(|| Wrong::parameter(name, "not left out"));
    let (kind, name) = (parse_kind(of("kind")?)?, of("name")?);
    let read = async {
        let (client, _turn) = shared.client().await?;
        let details = Details::read(&client, kind, name).await.map_err(Wrong::of)?;
        let waiters = client.survey().waiters(kind, name, WAITERS).await.map_err(Wrong::of)?;
        Ok::<_, Wrong>((details, waiters))
    };
    let (details, waiters) = in_time(read).await?;
    // What only looks again and again tell.
    let known = shared.view().rows.iter().find(|row| row.details.kind == kind && row.details.name == *name).cloned();
    let (grants, granted_ago) = match known {
        Some(row) if row.details.token() == details.token() => (row.grants, row.held_for()),
        Some(row) => (row.grants, None),
        None => (0.0, None),
    };
    let read = Instant::now();
    let row = Row { details, read, waiters: waiters.into(), waiters_read: read, grants, granted_ago };
    Ok(json_of(&document::object(&Arc::new(row))))
}

async fn client(State(shared): At, Query(parameters): Parameters) -> Result<Response, Wrong> {
    let id = parameters.get("id").ok_or_else(|| Wrong::parameter("id", "not left out"))?;
    let view = shared.view();
    let doing = all(&view).remove(id.as_str()).unwrap_or_default();
    Ok(json_of(&document::client(id, &doing)))
}

async fn force(State(shared): At, headers: HeaderMap, request: Request) -> Result<Response, Wrong> {
    let body = body_of(request).await?;
    if let Some(why) = shared.guard.refuses(&headers) {
        return Err(Wrong::new(StatusCode::FORBIDDEN, why));
    }
    let asked: Value =
        serde_json::from_slice(&body).map_err(|_| Wrong::new(StatusCode::BAD_REQUEST, "the body is no JSON"))?;
    let name = asked["name"].as_str().ok_or_else(|| Wrong::parameter("name", "a text"))?;
    let kind = match asked["kind"].as_str() {
        Some("lock") => Kind::Lock,
        Some("rw-lock") => Kind::RwLock,
        _ => return Err(Wrong::parameter("kind", "lock or rw-lock")),
    };
    let released = async {
        let (client, _turn) = shared.client().await?;
        release::force(&client, kind, name).await.map_err(Wrong::of)
    };
    let released = in_time(released).await?;
    say(&format!(
        "the page asked to release the {kind} {}; {}",
        visible(name),
        if released { "done" } else { "it was free" }
    ));
    Ok(json_of(&json!({ "name": name, "kind": kind.as_str(), "released": released })))
}

async fn metrics(State(shared): At) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics::text(&shared.view())).into_response()
}

async fn health(State(shared): At) -> Response {
    match &shared.view().problem {
        None => "ok\n".into_response(),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")).into_response(),
    }
}

/// The body of a request, if it comes in time.
async fn body_of(request: Request) -> Result<Bytes, Wrong> {
    let late = || Wrong::new(StatusCode::REQUEST_TIMEOUT, "the body of the request did not come in time");
    let body = timeout(BRINGING, Bytes::from_request(request, &())).await.map_err(|_| late())?;
    body.map_err(|refused| Wrong::new(refused.status(), &refused.body_text()))
}

async fn in_time<T>(answer: impl Future<Output = Result<T, Wrong>>) -> Result<T, Wrong> {
    let late = || Wrong::new(StatusCode::GATEWAY_TIMEOUT, "the server did not answer in time");
    timeout(PATIENCE, answer).await.map_err(|_| late())?
}

fn parse_kind(kind: &str) -> Result<Kind, Wrong> {
    kind.parse().map_err(Wrong::of)
}

fn json_of(document: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

/// An answer that says what was wrong, as `--json` says it.
pub struct Wrong(StatusCode, Value);

impl Wrong {
    fn new(code: StatusCode, message: &str) -> Wrong {
        let kind = if code.is_client_error() { "INVALID_ARGUMENT" } else { "FAILED" };
        Wrong(code, json!({ "error": { "kind": kind, "message": message } }))
    }

    fn parameter(name: &str, allowed: &str) -> Wrong {
        Wrong::new(StatusCode::BAD_REQUEST, &format!("{name} has to be {allowed}"))
    }

    fn of(error: Error) -> Wrong {
        let code = match error.kind() {
            ErrorKind::InvalidArgument | ErrorKind::InvalidName => StatusCode::BAD_REQUEST,
            ErrorKind::WrongType => StatusCode::CONFLICT,
            _ => StatusCode::BAD_GATEWAY,
        };
        Wrong(code, Failure::Core(error).to_json())
    }
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        let mut response = json_of(&self.1);
        *response.status_mut() = self.0;
        response
    }
}
