//! Written by `python3 api/write.py` from api/options.json: the fields, defaults and bounds of the options.

use std::time::Duration;

use super::options::{Password, PasswordSource, Secret};
use super::spec::{
    SourceSpec, Spec, duration, duration_or_none, flag, number, optional_text, secret, source, text, word,
};

/// The longest lease, given or as the watchdog's.
pub const MAX_LEASE: Duration = Duration::from_secs(86_400);
/// The shortest lease.
pub const MIN_LEASE: Duration = Duration::from_millis(100);

/// A client's options, checked.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// TCP connect, handshake and login together. 5 s: longer than the first two repeats of a lost SYN.
    pub connect_timeout: Duration,
    /// How long `connect` keeps trying while the server is not up yet; a wrong password ends it at once. 0: a client
    /// of a server that is not there fails at once.
    pub connect_wait: Duration,
    /// Whether `connect` returns at once and connects in the background: a program then starts while its server is
    /// away, and calls fail, or wait for the server as long as they may, until it is there. A wrong password is told
    /// by the calls and the log. False: most programs want to know at once.
    pub lazy_connect: bool,
    /// One attempt at one request. 1 s: long for a script of microseconds, short against a lease.
    pub response_timeout: Duration,
    /// A call that does not wait, such as `try_acquire` and `release`, including its retries; also an unbounded wait
    /// while the server does not answer. 10 s: long enough for most failovers to be no error.
    pub operation_timeout: Duration,
    /// The lease that the watchdog renews every third of it, for objects opened without a `watchdog_lease`. 30 s: as
    /// Redisson's.
    pub lease: Duration,
    /// The margin of a fixed lease in percent: how much the clocks of client and server may differ in rate. A time
    /// daemon slews a clock by up to 8.3 %. 1: far more than quartz does; a lease that the watchdog renews has 10
    /// anyway.
    pub clock_drift: u8,
    /// How often the first two waiters of the queue ask by themselves, in case a message is lost; capped at 2 s. 1 s:
    /// bounds the cost of a lost wake-up.
    pub poll_interval: Duration,
    /// How often the waiters behind the first two ask by themselves. 5 s: they wait for others anyway.
    pub queue_poll_interval: Duration,
    /// How long a connection may be idle before the client tests it.
    pub ping_interval: Duration,
    /// How long a token key outlives its last use; `none` for fleets that run Redisson's fenced lock.
    pub token_ttl: Option<Duration>,
    /// Whether a holder may acquire again.
    pub reentrant: bool,
    /// Whether each release goes to the queue head, so that waiters of the same process have no advantage.
    pub strict_fifo: bool,
    /// How many holders in a row, the first included, a process may have by handing a lock, or the permits of one
    /// grant, over within itself before other processes get their turn; 1 turns that off. 32: the server's round trip
    /// then hardly counts any more.
    pub cohort_max: u32,
    /// How long after the server's grant a process may hand a lock or permits over within itself before other
    /// processes get their turn. 1 ms: enough for a whole cohort of holders with nothing to do, and next to nothing
    /// for a caller behind 60 processes.
    pub cohort_age: Duration,
    /// Connections on which blocking calls do their own round trips; 0 is none.
    pub blocking_connections: u32,
    /// How many replicas must have a grant before it counts; a grant that fewer have is released, and the error says
    /// how many had it. 0: a caller then waits for the server alone.
    pub replicas: u32,
    /// How long a grant waits for its replicas. 1 s: replicas in another data centre answer within it, and a lease
    /// outlasts it.
    pub replica_timeout: Duration,
    /// Worker threads of libdlock; the first client of the process decides. 1: faster than two on a small machine.
    pub runtime_threads: u32,
    /// Put before every name, as Redisson's NameMapper does.
    pub key_prefix: String,
    /// The user that logs in.
    pub user: Option<String>,
    /// The password of the login; no error and no log shows it.
    pub password: Option<Password>,
    /// The user that logs in to the sentinels.
    pub sentinel_user: Option<String>,
    /// The password of the login to the sentinels; `password` is only for the servers.
    pub sentinel_password: Option<Password>,
    /// Number of the database.
    pub db: i64,
    /// File with the certificates (PEM) of the authorities that may have signed the server's, in place of the
    /// system's; read again for each connection.
    pub tls_ca_file: Option<String>,
    /// File with the client's certificate, and those between it and its authority (PEM); read again for each
    /// connection.
    pub tls_cert_file: Option<String>,
    /// File with the private key of that certificate (PEM, no passphrase); read again for each connection.
    pub tls_key_file: Option<String>,
    /// The name or IP address that the server's certificate has to be for, if that is not the host of the URL.
    pub tls_server_name: Option<String>,
    /// Whether any certificate will do: then whoever is on the way to the server can read and change everything, the
    /// password included.
    pub tls_danger_accept_any_certificate: bool,
    /// With several servers (`redis+quorum`): the longest lease of any client; a server that has restarted counts
    /// when it has passed. The same for all clients. 60 s: twice the default lease.
    pub longest_lease: Duration,
    /// With several servers (`redis+quorum`): whether they keep every write over a restart (`appendfsync always`), so
    /// that each counts at once.
    pub data_survives: bool,
    /// As the server's `CLIENT LIST` shows it.
    pub client_name: String,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connect_timeout: Duration::from_secs(5),
            connect_wait: Duration::ZERO,
            lazy_connect: false,
            response_timeout: Duration::from_secs(1),
            operation_timeout: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            clock_drift: 1,
            poll_interval: Duration::from_secs(1),
            queue_poll_interval: Duration::from_secs(5),
            ping_interval: Duration::from_secs(5),
            token_ttl: Some(Duration::from_secs(3_600)),
            reentrant: true,
            strict_fifo: false,
            cohort_max: 32,
            cohort_age: Duration::from_millis(1),
            blocking_connections: 4,
            replicas: 0,
            replica_timeout: Duration::from_secs(1),
            runtime_threads: 1,
            key_prefix: String::new(),
            user: None,
            password: None,
            sentinel_user: None,
            sentinel_password: None,
            db: 0,
            tls_ca_file: None,
            tls_cert_file: None,
            tls_key_file: None,
            tls_server_name: None,
            tls_danger_accept_any_certificate: false,
            longest_lease: Duration::from_secs(60),
            data_survives: false,
            client_name: concat!("libdlock-", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

pub(super) const TABLE: &[Spec] = &[
    duration!("connect_timeout", connect_timeout, 1, 86_400_000),
    duration!("connect_wait", connect_wait, 0, 86_400_000),
    flag!("lazy_connect", lazy_connect),
    duration!("response_timeout", response_timeout, 1, 86_400_000),
    duration!("operation_timeout", operation_timeout, 1, 86_400_000),
    duration!("lease", lease, 100, 86_400_000),
    number!("clock_drift", clock_drift, 0, 50),
    duration!("poll_interval", poll_interval, 20, 3_600_000),
    duration!("queue_poll_interval", queue_poll_interval, 20, 3_600_000),
    duration!("ping_interval", ping_interval, 100, 3_600_000),
    duration_or_none!("lock.token_ttl", token_ttl, 1_000, 31_622_400_000),
    flag!("lock.reentrant", reentrant),
    flag!("lock.strict_fifo", strict_fifo),
    number!("lock.cohort_max", cohort_max, 1, 1_024),
    duration!("lock.cohort_age", cohort_age, 1, 10_000),
    number!("blocking_connections", blocking_connections, 0, 64),
    number!("replicas", replicas, 0, 16),
    duration!("replica_timeout", replica_timeout, 1, 10_000),
    number!("runtime_threads", runtime_threads, 1, 64),
    text!("key_prefix", key_prefix),
    optional_text!("user", user),
    secret!("password", password),
    optional_text!("sentinel_user", sentinel_user),
    secret!("sentinel_password", sentinel_password),
    number!("db", db, 0, 65_535),
    optional_text!("tls_ca_file", tls_ca_file),
    optional_text!("tls_cert_file", tls_cert_file),
    optional_text!("tls_key_file", tls_key_file),
    optional_text!("tls_server_name", tls_server_name),
    flag!("tls_danger_accept_any_certificate", tls_danger_accept_any_certificate),
    duration!("longest_lease", longest_lease, 100, 86_400_000),
    flag!("data_survives", data_survives),
    word!("client_name", client_name),
];

/// Options that say where a password stands.
pub(super) const SOURCES: &[SourceSpec] = &[
    source!("password_env", password, Environment),
    source!("password_file", password, File),
    source!("sentinel_password_env", sentinel_password, Environment),
    source!("sentinel_password_file", sentinel_password, File),
];

/// Names from before there were groups, and what they are called now.
pub(super) const FLAT: &[(&str, &str)] = &[
    ("token_ttl", "lock.token_ttl"),
    ("reentrant", "lock.reentrant"),
    ("strict_fifo", "lock.strict_fifo"),
    ("cohort_max", "lock.cohort_max"),
    ("cohort_age", "lock.cohort_age"),
];
