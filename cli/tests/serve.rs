//! `dlock serve` over HTTP: what it answers to programs, to other origins and to nonsense, and how it begins and ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::served::{Answer, Served};
use crate::common::{PATIENCE, at, dlock, expect, start};
use libdlock_testkit::{Cluster, Server, eventually};
use prometheus_parse::{Scrape, Value as Metric};
use serde_json::{Value, json};

fn server() -> Server {
    Server::options().rights(vec!["+scan".to_owned()]).start()
}

const CLIENT: &str = "3e9b9a5c-6f34-4b9a-8d5e-0a1b2c3d4e5f";

/// A lock as a client leaves it on the server.
fn hold(server: &Server, name: &str) {
    server.cmd(&["HSET", name, &format!("{CLIENT}:1"), "1"]);
    server.cmd(&["PEXPIRE", name, "3600000"]);
}

/// Waits until the view has so many objects.
fn until_it_sees(served: &Served, count: usize) -> Value {
    let mut state = Value::Null;
    eventually(PATIENCE, "it sees them", || {
        state = served.json("/api/state");
        state["matching"] == count
    });
    state
}

#[test]
fn the_state_is_what_the_server_has() {
    let server = server();
    hold(&server, "orders/1");
    hold(&server, "orders/2");
    // A read-write lock, whose token has the key of a lock's.
    server.cmd(&["HSET", "rw", "mode", "write", &format!("{CLIENT}:2:write"), "1"]);
    server.cmd(&["PEXPIRE", "rw", "3600000"]);
    server.cmd(&["SET", "redisson_lock_token:{rw}", "1795725711090232"]);
    server.cmd(&["ZADD", "dlock_queue:{orders/2}", "1", "7d0c1a2b-1111-4222-8333-0a1b2c3d0001"]);
    expect(&server, &["queue", "put", "mails", "x"], 0);
    let served = Served::start(at(&server, &["serve"]));
    let state = until_it_sees(&served, 4);
    assert_eq!((&state["up"], &state["complete"], &state["problem"]), (&json!(true), &json!(true), &json!(null)));
    assert_eq!(state["kinds"], json!({ "lock": { "held": 2 }, "queue": { "used": 1 }, "rw-lock": { "written": 1 } }));
    assert_eq!(state["server"], json!(server.address().to_string()));
    let waiters = |name: &str| {
        let state = served.json(&format!("/api/state?filter={name}"));
        state["objects"][0]["waiters"].clone()
    };
    eventually(PATIENCE, "the waiter is seen", || {
        waiters("orders/2") == json!(["7d0c1a2b-1111-4222-8333-0a1b2c3d0001"])
    });
    let names = |query: &str| -> Vec<String> {
        let state = served.json(&format!("/api/state?{query}"));
        let objects = state["objects"].as_array().unwrap().iter();
        objects.map(|object| object["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("kind=lock"), ["orders/1", "orders/2"]);
    assert_eq!(names("sort=queued&limit=1"), ["orders/2"]);
    assert_eq!(names("from=2"), ["orders/2", "rw"]);
    assert_eq!(names(&format!("filter={}", CLIENT.to_uppercase())), ["orders/1", "orders/2", "rw"], "by its holder");
    let object = served.json("/api/object?kind=lock&name=orders/1");
    assert_eq!(object["holder"], json!(format!("{CLIENT}:1")));
    let client = served.json(&format!("/api/client?id={CLIENT}"));
    assert_eq!(
        client["holds"],
        json!([{ "kind": "lock", "name": "orders/1" }, { "kind": "lock", "name": "orders/2" },
            { "kind": "rw-lock", "name": "rw" }])
    );
    assert_eq!(served.json("/api/client?id=nobody")["holds"], json!([]));
}

#[test]
fn requests_that_make_no_sense_are_refused_in_words() {
    let server = server();
    let served = Served::start(at(&server, &["serve"]));
    until_it_sees(&served, 0);
    for (path, code) in [
        ("/nothing", 404),
        ("/api/state?sort=age", 400),
        ("/api/state?kind=thing", 400),
        ("/api/state?limit=-1", 400),
        ("/api/object", 400),
        ("/api/object?kind=lock", 400),
        ("/api/object?kind=lock&name=a%7B", 400),
        ("/api/client", 400),
    ] {
        let answer = served.get(path);
        let told: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{path}: {answer:?}"));
        assert!(answer.code == code && told["error"]["message"].is_string(), "{path}: {answer:?}");
    }
    for (method, path) in [("POST", "/api/state"), ("GET", "/api/release"), ("DELETE", "/")] {
        assert_eq!(served.ask(method, path, &[], "").code, 405, "{method} {path}");
    }
    assert_eq!(served.ask("POST", "/api/release", &[], &"x".repeat(100_000)).code, 413);
    // What is no HTTP at all, and a head without an end.
    for nonsense in [&b"\x00\xff\r\n\r\n"[..], b"GET / HTTP/9.9\r\n\r\n", &[b'a'; 200_000]] {
        let mut stream = TcpStream::connect(served.address()).unwrap();
        let _ = stream.write_all(nonsense);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(served.get("/healthz").code, 200, "it goes on");
}

#[test]
fn other_host_names_and_other_origins_get_nothing() {
    let server = server();
    let served = Served::start(at(&server, &["serve", "--host", "locks.lan"]));
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""] {
        for path in ["/", "/api/state", "/metrics", "/healthz"] {
            let answer = served.ask("GET", path, &[("host", host)], "");
            assert!(answer.code == 421 && answer.body.len() < 100, "{host} {path}: {answer:?}");
        }
    }
    for host in ["localhost", "LOCALHOST:1", "[::1]:80", "10.1.2.3", "locks.lan"] {
        assert_eq!(served.ask("GET", "/healthz", &[("host", host)], "").code, 200, "{host}");
    }
    for path in ["/", "/api/state", "/metrics", "/nothing"] {
        let Answer { head, .. } = served.ask("GET", path, &[("origin", "http://evil.example")], "");
        assert!(!head.contains("access-control-allow"), "{head}");
        for line in [
            "x-content-type-options: nosniff",
            "frame-ancestors 'none'",
            "default-src 'none'",
            "cache-control: no-store",
        ] {
            assert!(head.contains(line), "{path}: {line} is not in {head}");
        }
        assert!(!head.contains("unsafe"), "{head}");
    }
}

#[test]
fn it_only_reads_unless_told_and_then_for_its_own_page_alone() {
    let server = server();
    hold(&server, "a");
    let json = ("content-type", "application/json");
    let body = r#"{"kind":"lock","name":"a"}"#;
    let reads = Served::start(at(&server, &["serve"]));
    let refused = reads.ask("POST", "/api/release", &[json, ("x-dlock-token", "")], body);
    assert!(refused.code == 403 && refused.body.contains("--allow-force"), "{refused:?}");
    let served = Served::start(at(&server, &["serve", "--allow-force"]));
    let page = served.get("/").body;
    let token = page.split("name=\"dlock-token\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(token.len(), 32);
    let token = ("x-dlock-token", token);
    for headers in [
        &[json][..],
        &[json, ("x-dlock-token", "guess")],
        &[token],
        &[token, ("content-type", "text/plain")],
        &[json, token, ("origin", "http://evil.example")],
        &[json, token, ("origin", "null")],
        &[json, token, ("sec-fetch-site", "cross-site")],
    ] {
        assert_eq!(served.ask("POST", "/api/release", headers, body).code, 403, "{headers:?}");
    }
    assert_eq!(server.cmd(&["EXISTS", "a"]).int(), 1, "none of them released it");
    for wrong in ["", "{", r#"{"kind":"queue","name":"a"}"#, r#"{"kind":"lock"}"#, r#"{"kind":"lock","name":"a{"}"#] {
        assert_eq!(served.ask("POST", "/api/release", &[json, token], wrong).code, 400, "{wrong}");
    }
    let own = ("origin", served.url.as_str());
    let done = served.ask("POST", "/api/release", &[json, token, own, ("sec-fetch-site", "same-origin")], body);
    assert!(done.code == 200 && done.body.contains("\"released\":true"), "{done:?}");
    assert_eq!(server.cmd(&["EXISTS", "a"]).int(), 0);
    served.running.signal("INT");
    let ended = served.running.ended();
    assert!(ended.code == 0 && ended.stderr.contains("asked to release the lock a; done"), "{ended:?}");
}

#[test]
fn a_prometheus_client_reads_the_metrics() {
    let server = server();
    hold(&server, "a");
    server.cmd(&["ZADD", "dlock_queue:{a}", "1", CLIENT, "2", "other"]);
    let odd = "q\"\\\nx{y=\"z\"} 1";
    let odd = odd.replace('{', "(").replace('}', ")");
    expect(&server, &["queue", "put", &odd, "x"], 0);
    let served = Served::start(at(&server, &["serve"]));
    until_it_sees(&served, 2);
    let answer = served.get("/metrics");
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{answer:?}");
    let scrape = Scrape::parse(answer.body.lines().map(|line| Ok(line.to_owned()))).unwrap();
    let value = |name: &str, labels: &[(&str, &str)]| {
        let sample = scrape.samples.iter().find(|sample| {
            sample.metric == name && labels.iter().all(|(label, value)| sample.labels.get(label) == Some(value))
        });
        match sample.map(|sample| &sample.value) {
            Some(Metric::Gauge(value) | Metric::Counter(value) | Metric::Untyped(value)) => *value,
            other => panic!("{name} {labels:?} is {other:?} in {}", answer.body),
        }
    };
    assert_eq!(value("dlock_up", &[]), 1.0);
    assert_eq!(value("dlock_objects", &[("kind", "lock"), ("state", "held")]), 1.0);
    assert_eq!(value("dlock_waiting", &[]), 2.0);
    assert_eq!(value("dlock_waiters", &[("name", "a"), ("kind", "lock")]), 2.0);
    let waited = |quantile| value("dlock_waited_seconds", &[("quantile", quantile)]);
    assert!(waited("0.99") > 0.0 && waited("0.5") <= waited("0.99") && waited("0.99") <= waited("1"));
    assert_eq!(value("dlock_queue_jobs", &[("state", "ready")]), 1.0);
    assert!(value("dlock_server_share", &[]) < 0.2);
    // Each line is a comment, or a sample of a metric that one describes.
    for line in answer.body.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        assert!(answer.body.contains(&format!("# TYPE {name} ")), "{line}");
    }
    let escaped = odd.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    assert!(answer.body.contains(&format!("queue=\"{escaped}\"")), "{}", answer.body);
}

#[test]
fn a_password_is_in_nothing_that_is_served() {
    let server = Server::options().password("SECRET-PASSWORD").rights(vec!["+scan".to_owned()]).start();
    let mut command = dlock(&["serve", "--allow-force"]);
    command.env("DLOCK_URL", format!("redis://:SECRET-PASSWORD@{}?response_timeout=3s", server.address()));
    let served = Served::start(command);
    until_it_sees(&served, 0);
    let nothing = |when: &str| {
        for path in ["/", "/api/state", "/metrics", "/healthz", "/api/object?kind=lock&name=a", "/nothing"] {
            let answer = served.get(path);
            assert!(!format!("{answer:?}").contains("SECRET"), "{when}: {path}: {answer:?}");
        }
    };
    nothing("up");
    server.pause();
    eventually(PATIENCE, "it is seen", || served.get("/healthz").code == 503);
    nothing("away");
    server.resume();
    served.running.signal("TERM");
    assert!(!format!("{:?}", served.running.ended()).contains("SECRET"));
    let wrong = expect(&server, &["serve", "--url", "redis://:SECRET@127.0.0.1"], 125);
    assert!(wrong.stderr.contains("DLOCK_PASSWORD") && !wrong.stderr.contains("SECRET"), "{wrong:?}");
}

#[test]
fn a_server_that_comes_later_is_found() {
    let mut server = server();
    server.stop();
    let served = Served::start(at(&server, &["serve"]));
    let state = served.json("/api/state");
    assert!(state["up"] == false && state["problem"].as_str().unwrap().contains("refused"), "{state}");
    assert_eq!(served.get("/healthz").code, 503);
    assert_eq!(served.json("/api/object?kind=lock&name=a")["error"]["kind"], json!("FAILED"));
    server.start_again();
    eventually(PATIENCE, "it is found", || served.get("/healthz").code == 200);
    // What no patience mends ends it at once.
    let guarded = Server::options().password("right").start();
    let refused = expect(&guarded, &["serve", "--listen", "0"], 125);
    assert!(refused.stderr.contains("password"), "{refused:?}");
}

#[test]
fn an_address_in_use_and_wrong_arguments_are_told() {
    let server = server();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = expect(&server, &["serve", "--listen", &port], 125);
    assert!(ended.stderr.contains("--listen") && ended.stderr.contains("in use"), "{ended:?}");
    for wrong in [&["serve", "--listen", "here"][..], &["serve", "--listen", "1.2.3.4"], &["serve", "--every", "0"]] {
        let ended = expect(&server, wrong, 125);
        assert!(ended.stderr.contains("write a"), "{ended:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = at(&server, &["serve", "--listen", "0"]);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    assert_eq!(command.output().unwrap().status.code(), Some(141));
}

#[test]
fn it_ends_at_once_though_connections_are_open() {
    let server = server();
    let served = Served::start(at(&server, &["serve"]));
    let idle: Vec<_> = (0..20).map(|_| TcpStream::connect(served.address()).unwrap()).collect();
    let mut half = TcpStream::connect(served.address()).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nhost: 127").unwrap();
    assert_eq!(served.get("/healthz").code, 200, "others are served");
    let began = Instant::now();
    served.running.signal("TERM");
    let ended = served.running.ended();
    assert!(ended.code == 0 && began.elapsed() < Duration::from_secs(10), "{ended:?}");
    drop(idle);
}

#[test]
fn half_sent_requests_hold_up_no_other() {
    let server = server();
    let served = Served::start(at(&server, &["serve"]));
    let half = |_| {
        let mut half = TcpStream::connect(served.address()).unwrap();
        half.write_all(b"GET / HTTP/1.1\r\nhost: 127").unwrap();
        half
    };
    let halves: Vec<_> = (0..260).map(half).collect();
    let began = Instant::now();
    assert_eq!(served.get("/healthz").code, 200);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    drop(halves);
}

#[test]
fn a_body_that_never_ends_keeps_its_connection_for_seconds() {
    let server = server();
    let served = Served::start(at(&server, &["serve"]));
    let host = served.address();
    let request = |line: &str| format!("{line} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 8000\r\n\r\n{{");
    // As many as it has connections: nobody else is served meanwhile.
    let unfinished = |at: usize| {
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let line = if at.is_multiple_of(2) { "POST /api/release" } else { "GET /api/state" };
        stream.write_all(request(line).as_bytes()).unwrap();
        stream
    };
    let all: Vec<TcpStream> = (0..512).map(unfinished).collect();
    assert_eq!(served.get("/healthz").code, 200);
    for (at, mut stream) in all.into_iter().enumerate() {
        let mut answer = Vec::new();
        // To its end: the connection is closed.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let code = if at.is_multiple_of(2) { "HTTP/1.1 408" } else { "HTTP/1.1 200" };
        assert!(answer.starts_with(code), "{at}: {answer}");
    }
}

#[test]
fn the_locks_of_all_nodes_of_a_cluster_are_served() {
    let cluster = Cluster::start();
    for server in &cluster.nodes {
        server.cmd(&["ACL", "SETUSER", "default", "+scan"]);
    }
    let url = format!("{}?response_timeout=10s", cluster.url());
    for name in ["a", "b", "c"] {
        let mut command = dlock(&["run", name, "--", "true"]);
        command.env("DLOCK_URL", &url);
        assert_eq!(start(command).ended().code, 0);
    }
    let mut command = dlock(&["serve"]);
    command.env("DLOCK_URL", &url);
    let served = Served::start(command);
    eventually(PATIENCE, "all are seen", || served.json("/api/state")["idle"] == 3);
}
