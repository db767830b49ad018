//! A host that does not ignore SIGPIPE survives a server that is killed while 32 threads write to it.

use std::time::Duration;

use libdlock_faults::{SOON, with_options};
use libdlock_testkit::{Authority, Server, Worker};

fn survives(url: &str, server: &mut Server) {
    let url = format!("{url}response_timeout=200ms&operation_timeout=300ms&blocking_connections=16");
    let mut host = Worker::spawn(env!("CARGO_BIN_EXE_dlock-sigpipe"), &[&url]);
    assert_eq!(host.expect_line(SOON), "ready");
    for kill in 1..=3 {
        assert_eq!(host.ask("go on"), "again", "before kill {kill}");
        server.stop();
        assert_eq!(host.exit(Duration::from_millis(500)), None, "kill {kill} ended the host");
        server.start_again();
    }
    assert_eq!(host.ask("go on"), "again");
    assert!(host.finish(SOON).success());
}

#[test]
fn a_killed_server_raises_no_sigpipe_over_tcp() {
    let mut server = Server::start();
    survives(&with_options(&server.url(), ""), &mut server);
}

#[test]
fn a_killed_server_raises_no_sigpipe_over_a_unix_socket() {
    let mut server = Server::options().unix_socket().start();
    survives(&format!("redis+unix://{}?", server.socket().display()), &mut server);
}

#[test]
fn a_killed_server_raises_no_sigpipe_over_tls() {
    let authority = Authority::new("ours");
    let mut server = Server::options().tls(&authority.issue("server"), &authority, "no").start();
    let options = format!("tls_ca_file={}&", authority.file().display());
    survives(&with_options(&server.tls_url(), &options), &mut server);
}
