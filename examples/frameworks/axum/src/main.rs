//! Limits over HTTP with axum: `PORT=8000 REDIS_URL=redis://127.0.0.1:6379 cargo run -p axum-example`

use std::env;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::http::request::Parts;
use axum::routing::get;
use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Config, Rate, RateLimiter};
use libdlock_tower::RateLimitLayer;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tower_http::catch_panic::CatchPanicLayer;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut config = Config::from_url(&setting("REDIS_URL", "redis://127.0.0.1:6379"))?;
    // It starts also while Redis is away, and answers 503 until that is there.
    config.set("lazy_connect", "true")?;
    let client = Client::connect_with(config).await?;
    let app = app(&client)?.into_make_service_with_connect_info::<SocketAddr>();

    let port: u16 = setting("PORT", "8000").parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on {port}");
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        terminated.recv().await;
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    client.close().await;
    Ok(())
}

fn app(client: &Client) -> Result<Router, Failure> {
    let limit = |name: &str| -> Result<_, Failure> { Ok(RateLimitLayer::new(limiter(client, name)?)) };
    // All requests together.
    let together = |name: &str| -> Result<_, Failure> { Ok(limit(name)?.key(|_| None)) };
    let user = |request: &Parts| Some(request.headers.get("x-user")?.to_str().ok()?.to_owned());
    let cost = |request: &Parts| {
        let query = request.uri.query().unwrap_or_default();
        query.split('&').find_map(|pair| pair.strip_prefix("n=")?.parse().ok()).unwrap_or(1)
    };
    let ok = || get(|| async { "ok" });
    Ok(Router::new()
        .route("/", ok())
        .route("/limited", ok().layer(limit("demo")?))
        .route("/together", ok().layer(together("together")?))
        .route("/user", ok().layer(limit("user")?.key(user)))
        .route("/cost", ok().layer(together("cost")?.cost(cost)))
        .route("/faulty", ok().layer(limit("faulty")?.key(|_| panic!("a defect in the key function"))))
        .route("/both", ok().layer((together("outer")?, together("inner")?)))
        .route(
            "/skip",
            ok().layer(
                together("skip")?.skip(|request| request.headers.get("x-skip").is_some_and(|value| value == "yes")),
            ),
        )
        .layer(CatchPanicLayer::new()))
}

fn limiter(client: &Client, name: &str) -> Result<RateLimiter, Failure> {
    let mut rate = Rate::new(
        setting("LIMIT_TOKENS", "100").parse()?,
        Duration::from_millis(setting("LIMIT_PERIOD_MS", "60000").parse()?),
    );
    if let Ok(burst) = env::var("LIMIT_BURST") {
        rate = rate.burst(burst.parse()?);
    }
    let mut options = LimiterOptions::new(rate.by(setting("LIMIT_ALGORITHM", "gcra").parse()?));
    options.absent = match setting("LIMIT_ABSENT", "fail").as_str() {
        "allow" => Absent::Allow,
        "deny" => Absent::Deny,
        "local_share" => Absent::LocalShare { of: 2 },
        _ => Absent::Fail,
    };
    Ok(client.rate_limiter_with(name, options)?)
}

fn setting(name: &str, usual: &str) -> String {
    env::var(name).unwrap_or_else(|_| usual.to_owned())
}
