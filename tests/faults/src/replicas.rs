//! What the tests of the option `replicas` share.

use std::time::Duration;

use libdlock::{Client, Error, ErrorKind};
use libdlock_testkit::{Proxy, Replicated, Server, proxy::Match};

use crate::{client, is_held, with_options};

/// How long a grant waits for its replicas: longer than one that is there takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(1);

/// A server looks ten times a second whether the time of a WAIT is over.
pub const TICK: Duration = Duration::from_millis(100);

/// A client whose grants need this many replicas.
pub async fn requiring(replicas: u32, url: &str) -> Client {
    client(&with_options(url, &format!("replicas={replicas}&replica_timeout=1s&lease=30s&poll_interval=30s"))).await
}

/// Stops or starts all replicas.
pub fn each_replica(servers: &Replicated, act: impl Fn(&Server)) {
    servers.replicas.iter().for_each(|replica| act(&replica.server));
}

/// The next WAIT on its way to the primary. Its SET tells: a script's text may contain the word "wait".
pub fn next_wait(proxy: &Proxy) -> Match {
    proxy.on(&["dlock_replicas"], libdlock_testkit::Action::Pass)
}

/// The error of a grant that too few replicas had, which was released.
#[track_caller]
pub fn assert_short(error: &Error, name: &str, had: &str, of: u32, primary: &Server) {
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    assert!(error.is_retryable() && error.name() == Some(name), "{error:?}");
    let said = format!(
        "{had} had the grant within 1s (option replica_timeout), of {of} that must have it (option replicas); the grant was \
         released, nothing is held. Check that the replicas are connected"
    );
    assert!(error.message().starts_with(&said), "{error}");
    assert!(!is_held(primary, name), "the grant was released");
}
