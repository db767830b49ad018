//! Certificates, authorities and passwords that are replaced while a client runs count from its next connection on.
#![cfg(feature = "tls")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use libdlock::{Client, Config, ErrorKind};
use libdlock_testkit::certificates::replace;
use libdlock_testkit::temp::TempDir;
use libdlock_testkit::{Authority, Server, eventually};

const SOON: Duration = Duration::from_secs(10);

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A server and the files of its client, as somebody rotates them.
struct Rotated {
    server: Server,
    folder: TempDir,
    /// Whoever signs now.
    authority: Authority,
}

impl Rotated {
    fn new() -> Rotated {
        let authority = Authority::new("first");
        let server =
            Server::options().password("first-secret").tls(&authority.issue("server"), &authority, "yes").start();
        let rotated = Rotated { server, folder: TempDir::new(), authority };
        rotated.give_client("first-secret");
        rotated
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts into the client's files what lets it in from now on.
    fn give_client(&self, password: &str) {
        let client = self.authority.issue("client");
        replace(&self.authority.file(), &self.file("ca.pem"));
        replace(&client.cert, &self.file("client.pem"));
        replace(&client.key, &self.file("client.key"));
        std::fs::write(self.file("password"), password).unwrap();
    }

    /// From now on another authority is believed, by both sides, and another password.
    fn rotate(&mut self, password: &str) {
        self.authority = Authority::new("second");
        let shows = self.authority.issue("server");
        let files = [("cert", &shows.cert), ("key", &shows.key), ("ca-cert", &self.authority.file())];
        let mut set = vec!["CONFIG".to_owned(), "SET".to_owned(), "requirepass".to_owned(), password.to_owned()];
        for (what, path) in files {
            set.extend([format!("tls-{what}-file"), text(path).to_owned()]);
        }
        assert_eq!(self.server.cmd(&set).text(), "OK");
    }

    fn config(&self) -> Config {
        let mut config = Config::from_url(&self.server.tls_url()).unwrap();
        for (option, name) in [
            ("tls_ca_file", "ca.pem"),
            ("tls_cert_file", "client.pem"),
            ("tls_key_file", "client.key"),
            ("password_file", "password"),
        ] {
            config.set(option, text(&self.file(name))).unwrap();
        }
        config
    }

    /// Ends the client's connections.
    fn cut(&self) {
        for kind in ["normal", "pubsub"] {
            self.server.cmd(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"]);
        }
    }

    /// How many connections the client has.
    fn connections(&self) -> usize {
        self.server.cmd(&["CLIENT", "LIST"]).text().matches("name=libdlock").count()
    }
}

#[test]
fn what_is_rotated_counts_from_the_next_connection_on() {
    let mut rotated = Rotated::new();
    let client = Client::blocking_connect_with(rotated.config()).unwrap();
    let (kept, lock) = (client.lock("kept").unwrap(), client.lock("job").unwrap());
    let held = client.block_on(kept.acquire()).unwrap();
    let pair = || client.block_on(async { lock.acquire().await?.release().await });
    // For commands, for messages, and one of a thread that blocks.
    eventually(SOON, "all connections are there", || pair().is_ok() && rotated.connections() >= 3);

    rotated.rotate("second-secret");
    let opened = rotated.server.info("stats", "total_connections_received");
    for _ in 0..10 {
        pair().unwrap();
    }
    assert_eq!(rotated.server.info("stats", "total_connections_received"), opened, "those that are there go on");

    rotated.give_client("second-secret");
    rotated.cut();
    pair().unwrap();
    eventually(SOON, "all connections are there again", || pair().is_ok() && rotated.connections() >= 3);
    assert!(held.is_valid(), "{:?}", held.state());
    client.block_on(held.release()).unwrap();
}

/// What a client says in the background.
struct Told(tokio::sync::mpsc::UnboundedReceiver<String>);

impl Told {
    fn by(config: &mut Config) -> Told {
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        config.on_event(Arc::new(move |event| drop(tell.send(event.message.clone()))));
        Told(told)
    }

    async fn until(&mut self, says: &str) {
        let said = async { while !self.0.recv().await.expect("the client is there").contains(says) {} };
        tokio::time::timeout(SOON, said).await.unwrap_or_else(|_| panic!("it does not say {says:?}"));
    }
}

/// As when files are replaced one after the other, and a connection is opened in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_missing_for_a_while_is_waited_for() {
    let rotated = Rotated::new();
    let mut config = rotated.config();
    config.set("operation_timeout", "500ms").unwrap();
    let mut told = Told::by(&mut config);
    let client = Client::connect_with(config).await.unwrap();
    let lock = client.lock("job").unwrap();
    let (key, aside) = (rotated.file("client.key"), rotated.file("aside"));
    std::fs::rename(&key, &aside).unwrap();
    rotated.cut();
    // What is sent before on the connection that breaks has an unknown outcome.
    told.until("cannot connect for commands").await;
    let error = lock.try_acquire().await.map(drop).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, true), "{error}");
    assert!(error.message().contains("option tls_key_file: ") && error.message().contains("cannot be read"), "{error}");
    assert!(!error.to_string().contains("first-secret"), "{error}");
    std::fs::rename(&aside, &key).unwrap();
    lock.acquire_timeout(SOON).await.unwrap().release().await.unwrap();
}

/// Before its files are replaced a client is refused, and says so to whoever waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_the_files_of_yesterday_says_which_are_wrong() {
    let mut rotated = Rotated::new();
    let mut config = rotated.config();
    config.set("operation_timeout", "500ms").unwrap();
    let mut told = Told::by(&mut config);
    let client = Client::connect_with(config).await.unwrap();
    let lock = client.lock("job").unwrap();
    rotated.rotate("second-secret");
    rotated.cut();
    told.until("cannot connect for commands").await;
    let error = lock.try_acquire().await.map(drop).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, true), "{error}");
    let ca = rotated.file("ca.pem");
    assert!(error.message().contains("no authority in") && error.message().contains(text(&ca)), "{error}");
    // The authority alone: now it is the server that refuses.
    replace(&rotated.authority.file(), &ca);
    told.until("refused the client certificate").await;
    rotated.give_client("second-secret");
    lock.acquire_timeout(SOON).await.unwrap().release().await.unwrap();
}
