//! `dlock serve`: what the server has, as a web page, JSON and Prometheus metrics.
//!
//! Nobody who asks is known: it only reads, unless it is told to let the page release locks, and listens on the loopback unless
//! told. Everything is bounded: connections, how long a request may take, what it may bring, what an answer may hold.

mod guard;
mod metrics;
mod routes;

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use self::guard::Guard;
use self::routes::Shared;
use crate::args::{ServeArgs, ServerArgs};
use crate::exit::{self, Failure};
use crate::live::Live;
use crate::out::{Out, say, visible};
use crate::run::signals::Signals;

/// Connections at a time. Others wait to be accepted.
const CONNECTIONS: usize = 512;

/// How long the head of a request may take, after which an idle connection is closed.
const HEAD: Duration = Duration::from_secs(5);

/// How long a connection may last: one that does not read its answers goes, too.
const LIFE: Duration = Duration::from_secs(300);

/// How long requests may go on after a signal to end.
const ENDING: Duration = Duration::from_secs(2);

pub async fn serve(server: &ServerArgs, args: &ServeArgs, out: &Out) -> Result<u8, Failure> {
    let guard = Guard::new(args);
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        let message = format!("cannot listen on {}: {error}; --listen names another address or port", args.listen);
        Failure::Code(exit::FAILED, message)
    })?;
    let mut signals = Signals::listen()?;
    let mut live = Live::start(server, &args.live).await?;
    let url = format!("http://{}", listener.local_addr().unwrap_or(args.listen));
    match out.json {
        true => out.document(&json!({ "url": url, "allow_force": args.allow_force }))?,
        false => out.line(&format!("listening on {url}"))?,
    }
    if !args.listen.ip().is_loopback() {
        let may = if args.allow_force {
            "see the names of all objects, and release locks"
        } else {
            "see the names of all objects"
        };
        say(&format!("everybody who reaches this address can {may}"));
    }
    let app = routes::router(Arc::new(Shared::new(&live, guard)));
    let ends = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut told: Option<String> = None;
    loop {
        tokio::select! {
            () = signals.ending() => break,
            changed = live.changed() => {
                changed?;
                tell(&mut told, live.view().problem.clone());
            }
            stream = accept(&listener, &permits) => {
                let (stream, permit) = stream;
                let connection = ends.watch(http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD)
                    .max_buf_size(16 << 10)
                    .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone())));
                tokio::spawn(async move {
                    // Whoever hangs up or talks nonsense is gone with that.
                    let _ = timeout(LIFE, connection).await;
                    drop(permit);
                });
            }
        }
    }
    drop(listener);
    let _ = timeout(ENDING, ends.shutdown()).await;
    if let Some(client) = live.client() {
        drop(live);
        let _ = timeout(ENDING, client.close()).await;
    }
    Ok(0)
}

/// The next connection, once there is room for it. Cancel safe.
async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> (TcpStream, tokio::sync::OwnedSemaphorePermit) {
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            std::future::pending::<()>().await;
            continue;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                return (stream, permit);
            }
            // No descriptor is free, or the client has gone: neither lasts.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Says on standard error what is new about the server.
fn tell(told: &mut Option<String>, problem: Option<String>) {
    if *told != problem {
        say(&problem.as_deref().map_or("the server can be read again".to_owned(), visible));
        *told = problem;
    }
}
