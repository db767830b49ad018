//! `dlock doctor` finds what is wrong with a server, one thing at a time, and says what to do.

use std::process::Command;
use std::time::Duration;

use crate::common::{Ended, PATIENCE, at, dlock, start};
use libdlock::survey::{CONNECTION_RULES, Kind};
use libdlock_testkit::server::Options;
use libdlock_testkit::{Proxy, Replicated, Server, Side, eventually};
use serde_json::Value;

/// A server without a fault.
fn well() -> Options {
    Server::options().args(&["--appendonly", "yes"]).rights(vec!["+config|get".to_owned()])
}

fn doctor(mut command: Command) -> Vec<Value> {
    command.arg("--json");
    let ended = start(command).ended();
    let told: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    assert_eq!(ended.code, if told["ok"] == true { 0 } else { 1 }, "{ended:?}");
    told["checks"].as_array().unwrap().clone()
}

/// The checks that want a look, each with what it says.
fn complaints(command: Command) -> Vec<(String, String)> {
    let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    let to_look_at = doctor(command).into_iter().filter(|check| check["result"] == "look");
    to_look_at
        .map(|check| {
            assert!(!text(&check, "advice").is_empty(), "{check}");
            (text(&check, "check"), format!("{} {}", text(&check, "what"), text(&check, "advice")))
        })
        .collect()
}

/// Expects this complaint and, of a server that has one fault, no other.
#[track_caller]
fn finds(command: Command, check: &str, says: &[&str]) {
    let mut found = complaints(command);
    // A busy machine is far from its own servers.
    found.retain(|(found, _)| found != "round trip" || check == "round trip");
    let [(which, what)] = found.as_slice() else { panic!("{check}: {found:?}") };
    assert_eq!(which, check, "{found:?}");
    assert!(says.iter().all(|says| what.contains(says)), "{found:?}");
}

fn at_url(url: &str) -> Command {
    let mut command = dlock(&["doctor"]);
    command.env("DLOCK_URL", url);
    command
}

/// Expects none, but that a busy machine is far from its own servers.
#[track_caller]
fn finds_nothing(command: Command) {
    let found = complaints(command);
    assert!(found.iter().all(|(check, _)| check == "round trip"), "{found:?}");
}

#[test]
fn nothing_is_said_of_a_server_that_is_well() {
    let server = well().start();
    finds_nothing(at(&server, &["doctor"]));
    let Ended { code, stdout, stderr } = start(at(&server, &["doctor"])).ended();
    assert_eq!(stderr, "");
    let is_slow = stdout.contains("look    round trip");
    assert!(is_slow || (code == 0 && stdout.lines().all(|line| line.starts_with("ok "))), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "no colour where no terminal is");
    assert!(server.keys().iter().all(|key| !key.starts_with("dlock-doctor")), "{:?}", server.keys());
}

#[test]
fn a_server_that_is_not_there_or_refuses_the_password() {
    finds(at_url("redis://127.0.0.1:1"), "connection", &["127.0.0.1:1", "refused"]);
    let server = well().password("right").start();
    let mut wrong = at(&server, &["doctor"]);
    wrong.env("DLOCK_PASSWORD", "SECRET");
    finds(wrong, "connection", &["password"]);
    let mut right = at(&server, &["doctor"]);
    right.env("DLOCK_PASSWORD", "right");
    finds_nothing(right);
    // TLS where the server speaks none.
    finds(at_url(&server.url().replace("redis:", "rediss:")), "connection", &["TLS"]);
}

#[test]
fn a_server_that_evicts_or_is_full() {
    let server = well().args(&["--maxmemory-policy", "allkeys-lru"]).start();
    finds(at(&server, &["doctor"]), "eviction", &["allkeys-lru", "two holders", "noeviction"]);
    let full = well().start();
    full.cmd(&["CONFIG", "SET", "maxmemory", "100kb"]);
    let found = complaints(at(&full, &["doctor"]));
    assert!(found.iter().any(|(check, what)| check == "memory" && what.contains("raise maxmemory")), "{found:?}");
    assert!(found.iter().any(|(check, what)| check == "lock" && what.contains("maxmemory")), "{found:?}");
}

#[test]
fn a_server_that_forgets_what_it_had() {
    let none = Server::options().rights(vec!["+config|get".to_owned()]).start();
    finds(at(&none, &["doctor"]), "persistence", &["neither", "appendonly yes"]);
    let snapshots = Server::options().rights(vec!["+config|get".to_owned()]).start();
    snapshots.cmd(&["CONFIG", "SET", "save", "3600 1"]);
    finds(at(&snapshots, &["doctor"]), "persistence", &["snapshots alone (save 3600 1)"]);
    let silent = Server::start();
    finds(at(&silent, &["doctor"]), "persistence", &["no append-only file"]);
}

#[test]
fn a_server_whose_disk_does_not_take_what_it_writes() {
    let server = well().start();
    // A file cannot be renamed to a folder that is not empty.
    let folder = server.cmd(&["CONFIG", "GET", "dir"]).array()[1].text().to_owned();
    std::fs::create_dir_all(format!("{folder}/dump.rdb/full")).unwrap();
    server.cmd(&["BGSAVE"]);
    let failed = || server.cmd(&["INFO", "persistence"]).text().contains("rdb_last_bgsave_status:err");
    eventually(PATIENCE, "the snapshot fails", failed);
    let found = complaints(at(&server, &["doctor"]));
    assert!(found.iter().any(|(check, what)| check == "disk" && what.contains("MISCONF")), "{found:?}");
}

#[test]
fn replicas_that_are_reached_lag_or_are_not_waited_for() {
    let group = Replicated::with(1, well());
    finds(at(&group.primary, &["doctor"]), "replicas", &["1, and grants do not wait", "replicas=1"]);
    finds_nothing(at(&group.primary, &["doctor", "-o", "replicas=1"]));
    finds_nothing(at_url(&format!("{}&replicas=1", crate::common::patient(&group.primary))));
    finds(at(&group.primary, &["doctor", "-o", "replicas=0"]), "replicas", &["1, and grants do not wait"]);
    let found = complaints(at(&group.replicas[0].server, &["doctor"]));
    assert!(found.iter().any(|(_, what)| what.contains("replica")), "{found:?}");
    let alone = well().start();
    let found = complaints(at(&alone, &["doctor", "-o", "replicas=1"]));
    assert!(found.iter().any(|(check, what)| check == "replicas" && what.contains("no lock will")), "{found:?}");
}

#[test]
fn a_clock_that_is_off() {
    let server = well().clock().start();
    // Half a minute more than is looked for: a busy machine estimates by its round trip.
    server.clock().offset(-630_000_000);
    finds(at(&server, &["doctor"]), "clock", &["10m", "s behind this machine's", "time daemon"]);
}

#[test]
fn a_user_that_lacks_a_right() {
    let server = well().rights(vec!["+config|get".to_owned(), "-pexpire".to_owned()]).start();
    let found = complaints(at(&server, &["doctor", "--kind", "lock"]));
    if server.cmd(&["INFO", "server"]).text().contains("redis_version:6.") {
        assert!(found.iter().any(|(check, _)| check == "lock"), "{found:?}");
    } else {
        assert!(found.iter().any(|(check, what)| check == "rights" && what.contains("+pexpire")), "{found:?}");
    }
    // One that is meant for queues takes no lock.
    let rules = Kind::Queue.rules("");
    let user = ["ACL SETUSER mails on >right resetkeys resetchannels -@all +config|get", CONNECTION_RULES].join(" ");
    let user: Vec<&str> = user.split(' ').chain(rules.iter().map(String::as_str)).collect();
    let queues = well().start();
    queues.cmd(&user);
    let url = queues.url().replace("redis://", "redis://mails:right@");
    let mut command = at_url(&format!("{url}?response_timeout=10s&connect_timeout=30s"));
    command.args(["--kind", "queue"]);
    finds_nothing(command);
    let blind = well().rights(vec!["-info".to_owned()]).start();
    let found = complaints(at(&blind, &["doctor"]));
    assert!(found.iter().any(|(check, what)| check == "info" && what.contains("restarted")), "{found:?}");
}

#[test]
fn a_server_that_is_far_away_or_ends_idle_connections() {
    let server = well().start();
    let proxy = Proxy::start(server.address());
    proxy.delay(Side::Replies, Duration::from_millis(40));
    finds(at_url(&proxy.url()), "round trip", &["near the server"]);
    server.cmd(&["CONFIG", "SET", "timeout", "3"]);
    finds(at(&server, &["doctor"]), "timeout", &["after 3 s", "PING"]);
}

#[test]
fn a_server_with_no_room_for_more_clients() {
    let server = well().start();
    server.cmd(&["CONFIG", "SET", "maxclients", "12"]);
    let others: Vec<_> = (0..9).map(|_| server.connect()).collect();
    let found = complaints(at(&server, &["doctor"]));
    assert!(found.iter().any(|(_, what)| what.contains("maxclients") || what.contains("max number")), "{found:?}");
    drop(others);
}
