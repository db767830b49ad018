//! The server under the tests does what the tests ask of it.

use std::fs;
use std::time::{Duration, Instant};

use libdlock_testkit::{
    Conn, Reply, Server, program,
    server::{self, Data},
    within,
};

#[test]
fn it_answers_and_starts_empty() {
    let server = Server::start();
    assert_eq!(server.cmd(&["PING"]).text(), "PONG");
    assert_eq!(server.cmd(&["GET", "x"]), Reply::Nil);
    assert_eq!(server.cmd(&["SET", "x", "1"]).text(), "OK");
    assert_eq!(server.cmd(&["INCR", "x"]).int(), 2);
    assert_eq!(server.keys(), ["x"]);
    assert_eq!(server.info("commandstats", "cmdstat_incr:calls"), 1);
    assert!(matches!(server.cmd(&["INCR", "x", "y"]), Reply::Error(_)));
}

#[test]
fn it_is_the_program_that_the_environment_names() {
    let server = Server::start();
    let info = server.cmd(&["INFO", "server"]).text().to_owned();
    let version = |key: &str| Some(info.split_once(&format!("{key}_version:"))?.1.split('.').next()?.parse::<u32>());
    // Valkey calls itself Redis 7.2 for clients that know no other.
    let told = version("valkey").or_else(|| version("redis")).expect("a version").expect("a number");
    assert_eq!(told, program::major_version());
    if let Some(named) = std::env::var_os(program::VARIABLE) {
        let running = fs::read_link(format!("/proc/{}/exe", server.pid())).expect("a process");
        assert_eq!(running, fs::canonicalize(named).expect("a file"));
    }
}

#[test]
fn many_start_at_once_each_on_a_port_of_its_own() {
    let servers: Vec<Server> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8).map(|_| scope.spawn(Server::start)).collect();
        starts.into_iter().map(|s| s.join().expect("start")).collect()
    });
    for (n, server) in servers.iter().enumerate() {
        server.cmd(&["SET", "n", &n.to_string()]);
    }
    for (n, server) in servers.iter().enumerate() {
        assert_eq!(server.cmd(&["GET", "n"]).int(), n as i64);
    }
}

#[test]
fn a_restart_keeps_the_port_and_loses_or_keeps_the_data() {
    let mut server = Server::start();
    let port = server.port();
    server.cmd(&["SET", "x", "1"]);
    server.restart(Data::Kept);
    assert_eq!(server.cmd(&["GET", "x"]).int(), 1);
    server.restart(Data::Lost);
    assert_eq!(server.cmd(&["GET", "x"]), Reply::Nil);
    assert_eq!(server.port(), port);
}

#[test]
fn a_stopped_server_refuses_connections_until_it_is_started() {
    let mut server = Server::start();
    server.stop();
    assert!(Conn::open(server.address()).is_err());
    server.start_again();
    assert_eq!(server.cmd(&["PING"]).text(), "PONG");
}

#[test]
fn a_paused_server_is_silent_and_answers_after_it_resumes() {
    let server = Server::start();
    let mut conn = server.connect();
    server.pause();
    conn.read_timeout(Some(Duration::from_millis(50))).expect("a bound");
    conn.send(&["PING"]).expect("the kernel accepts it");
    assert!(conn.read().is_err(), "it must not answer while it is stopped");
    server.resume();
    conn.read_timeout(Some(Duration::from_secs(5))).expect("a bound");
    assert_eq!(conn.read().expect("a reply").text(), "PONG");
}

#[test]
fn it_is_gone_when_dropped() {
    let server = Server::start();
    let (pid, address) = (server.pid(), server.address());
    drop(server);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert!(Conn::open(address).is_err());
}

#[test]
fn passwords_users_and_sockets_can_be_asked_for() {
    let server = Server::options().password("open sesame").user("alice on >secret ~a* +get").unix_socket().start();
    assert_eq!(server.cmd(&["PING"]).text(), "PONG");
    let mut stranger = Conn::open(server.address()).expect("connect");
    assert!(matches!(stranger.cmd(&["GET", "a"]).expect("a reply"), Reply::Error(e) if e.starts_with("NOAUTH")));
    assert_eq!(stranger.cmd(&["AUTH", "alice", "secret"]).expect("a reply").text(), "OK");
    assert_eq!(stranger.cmd(&["GET", "a"]).expect("a reply"), Reply::Nil);
    assert!(matches!(stranger.cmd(&["GET", "b"]).expect("a reply"), Reply::Error(e) if e.starts_with("NOPERM")));
    assert!(server.socket().exists());
}

#[test]
fn a_server_without_memory_refuses_writes() {
    let server = server::Options::default().maxmemory(1).start();
    assert!(matches!(server.cmd(&["SET", "x", "1"]), Reply::Error(e) if e.starts_with("OOM")));
}

#[test]
fn waiting_is_bounded() {
    let start = Instant::now();
    assert!(!within(Duration::from_millis(50), || false));
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(within(Duration::ZERO, || true), "what holds already needs no time");
}
