//! `dlock ls`, `inspect` and `release`: what the server has is what they show.

use crate::common::{Ended, PATIENCE, at, expect, run, start};
use libdlock_testkit::{Cluster, Server, eventually};
use serde_json::Value;

/// A server whose user may look.
fn server() -> Server {
    Server::options().rights(vec!["+scan".to_owned()]).start()
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn what_is_held_is_listed_with_its_holder_and_who_waits() {
    let server = server();
    let holder = start(at(&server, &["run", "shop/1", "--", "sh", "-c", "echo in; cat"]));
    holder.said("in");
    let waiting = start(at(&server, &["run", "shop/1", "--", "true"]));
    eventually(PATIENCE, "it waits", || server.cmd(&["ZCARD", "dlock_queue:{shop/1}"]).int() == 1);
    expect(&server, &["queue", "put", "shop/mails", "hello"], 0);
    expect(&server, &["run", "shop/2", "--", "true"], 0);
    server.cmd(&["SET", "shop/other", "1"]);

    let owner = server.cmd(&["HKEYS", "shop/1"]).array()[0].text().to_owned();
    let listed = json(&expect(&server, &["ls", "shop/*", "--json"], 0));
    assert_eq!(listed["complete"], true);
    let objects = listed["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 2, "the free lock and the other key are not shown: {listed}");
    assert_eq!((&objects[0]["name"], &objects[0]["kind"]), (&"shop/1".into(), &"lock".into()));
    assert_eq!((&objects[0]["holder"], &objects[0]["queued"]), (&owner.as_str().into(), &1.into()));
    assert!((1..=30_000).contains(&objects[0]["ttl_ms"].as_u64().unwrap()), "{listed}");
    assert_eq!((&objects[1]["name"], &objects[1]["ready"]), (&"shop/mails".into(), &1.into()));
    let all = json(&expect(&server, &["ls", "-a", "shop/*", "--json"], 0));
    assert_eq!(all["objects"].as_array().unwrap().len(), 3);
    let locks = expect(&server, &["ls", "--kind", "lock"], 0).stdout;
    assert_eq!(locks.lines().count(), 2, "{locks}");
    assert!(locks.starts_with("NAME") && locks.contains(&owner), "{locks}");

    let seen = json(&expect(&server, &["inspect", "shop/1", "--json"], 0));
    let lock = &seen["objects"][0];
    assert_eq!((&lock["state"], &lock["holder"]), (&"held".into(), &owner.as_str().into()));
    let waiter = server.cmd(&["ZRANGE", "dlock_queue:{shop/1}", "0", "-1"]).array()[0].text().to_owned();
    assert_eq!(lock["waiters"], serde_json::json!([waiter]));
    let joined: f64 = server.cmd(&["ZSCORE", "dlock_queue:{shop/1}", &waiter]).text().parse().unwrap();
    let waited = lock["waited_ms"][0].as_f64().unwrap();
    let time: Vec<f64> = server.cmd(&["TIME"]).array().iter().map(|part| part.text().parse().unwrap()).collect();
    let since = time[0] * 1e3 + time[1] / 1e3 - joined / 1e3;
    assert!(lock["waited_ms"].as_array().unwrap().len() == 1 && (0.0..=since).contains(&waited), "{waited} of {since}");
    let text = expect(&server, &["inspect", "shop/1"], 0).stdout;
    assert!(text.contains("time left") && text.contains(&format!("{waiter} for ")), "{text}");
    assert_eq!(server.info("commandstats", "cmdstat_keys:calls"), 0, "never KEYS");
    drop((holder, waiting));
}

#[test]
fn a_name_that_does_not_exist_is_a_no() {
    let server = server();
    let missing = expect(&server, &["inspect", "nothing"], 1);
    assert!(missing.stderr.contains("nothing called nothing"), "{missing:?}");
    let missing = expect(&server, &["inspect", "nothing", "--json"], 1);
    assert_eq!(json(&missing)["objects"], serde_json::json!([]));
    let empty = expect(&server, &["ls", "nothing*"], 0);
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", ""));
    expect(&server, &["release", "nothing", "--force"], 1);
    let counts = expect(&server, &["queue", "ls", "nothing"], 0);
    assert_eq!(counts.stdout, "0 ready, 0 delayed, 0 in flight, 0 dead\n");
}

#[test]
fn an_object_is_found_by_its_keys_or_by_its_kind() {
    let server = server();
    expect(&server, &["limit", "api", "--rate", "10/m"], 0);
    let limiter = expect(&server, &["inspect", "api"], 0).stdout;
    assert!(limiter.contains("rate-limiter"), "{limiter}");
    // A latch is a number, as many other things are.
    server.cmd(&["SET", "gate", "3"]);
    expect(&server, &["inspect", "gate"], 1);
    let latch = expect(&server, &["inspect", "gate", "--kind", "latch"], 0).stdout;
    assert!(latch.contains("closed") && latch.contains('3'), "{latch}");
    let wrong = expect(&server, &["inspect", "gate", "--kind", "rw-lock"], 125);
    assert!(wrong.stderr.contains("does not belong"), "{wrong:?}");
}

#[test]
fn what_nobody_uses_is_an_answer_and_what_is_not_there_a_no() {
    let server = server();
    expect(&server, &["run", "a", "--", "true"], 0);
    let free = json(&expect(&server, &["inspect", "a", "--json"], 0));
    assert_eq!((&free["objects"][0]["state"], &free["objects"][0]["holder"]), (&"free".into(), &Value::Null));
    for (kind, state, code) in [
        ("lock", "free", 0),
        ("rw-lock", "free", 0),
        ("queue", "empty", 0),
        ("latch", "open", 0),
        ("semaphore", "absent", 1),
        ("counting-semaphore", "absent", 1),
    ] {
        let seen = expect(&server, &["inspect", "other", "--kind", kind], code).stdout;
        assert!(seen.contains(&format!(" {state}\n")), "{kind}: {seen}");
    }
}

#[test]
fn names_that_would_act_on_a_terminal_are_escaped() {
    let server = server();
    let name = "<script>\u{1b}[31mred\u{202e}\n";
    let holder = start(at(&server, &["run", name, "--", "sh", "-c", "echo in; cat"]));
    holder.said("in");
    let text = expect(&server, &["ls"], 0).stdout;
    assert!(text.contains("<script>\\u{1b}[31mred\\u{202e}\\n "), "{text}");
    assert_eq!(text.lines().count(), 2);
    let listed = json(&expect(&server, &["ls", "--json"], 0));
    assert_eq!(listed["objects"][0]["name"], name);
}

#[test]
fn a_list_says_when_it_has_not_seen_everything() {
    let server = server();
    for number in 0..4 {
        expect(&server, &["queue", "put", &format!("q{number}"), "x"], 0);
    }
    let some = expect(&server, &["ls", "--most", "2"], 0);
    assert_eq!(some.stdout.lines().count(), 3);
    assert!(some.stderr.contains("may be more"), "{some:?}");
    server.cmd(&["EVAL", "for i = 1, 5000 do redis.call('SET', 'k' .. i, '') end", "0"]);
    let few = json(&expect(&server, &["ls", "--visit", "1000", "--json"], 0));
    assert_eq!(few["complete"], false);
}

#[test]
fn objects_that_nobody_uses_do_not_crowd_out_others() {
    let server = server();
    // Locks that were held a while ago, and a queue: neither is what is asked for.
    let script = "for i = 1, 600 do redis.call('SET', 'redisson_lock_token:{a' .. i .. '}', '1795725711090232') end";
    server.cmd(&["EVAL", script, "0"]);
    expect(&server, &["queue", "put", "b", "x"], 0);
    for name in ["held1", "held2"] {
        server.cmd(&["HSET", name, "3e9b9a5c-6f34-4b9a-8d5e-0a1b2c3d4e5f:1", "1"]);
    }
    let listed = json(&expect(&server, &["ls", "--kind", "lock", "--most", "2", "--json"], 0));
    let names: Vec<_> = listed["objects"].as_array().unwrap().iter().map(|object| object["name"].clone()).collect();
    assert_eq!((names, &listed["complete"]), (vec!["held1".into(), "held2".into()], &true.into()));
    let one = expect(&server, &["ls", "--kind", "lock", "--most", "1"], 0);
    assert!(one.stdout.contains("held1") && one.stderr.contains("may be more"), "{one:?}");
}

#[test]
fn a_user_who_may_not_scan_is_told_the_rule() {
    let server = Server::start();
    let refused = expect(&server, &["ls"], 125);
    assert!(refused.stderr.contains("+scan"), "{refused:?}");
    // Where the name alone is enough nothing is scanned.
    let holder = start(at(&server, &["run", "a", "--", "sh", "-c", "echo in; cat"]));
    holder.said("in");
    expect(&server, &["inspect", "a"], 0);
}

#[test]
fn every_node_of_a_cluster_is_looked_at() {
    let cluster = Cluster::start();
    for server in &cluster.nodes {
        server.cmd(&["ACL", "SETUSER", "default", "+scan"]);
    }
    let command = |args: &[&str]| {
        let mut command = crate::common::dlock(args);
        command.env("DLOCK_URL", format!("{}?response_timeout=10s&connect_timeout=30s", cluster.url()));
        start(command).ended()
    };
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(command(&["queue", "put", name, "x"]).code, 0);
    }
    let listed = command(&["ls", "--json"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let listed = json(&listed);
    let names: Vec<&str> = listed["objects"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_release_by_force_ends_the_hold_of_another() {
    let server = server();
    let holder = start(at(&server, &["run", "a", "--", "sh", "-c", "echo in; exec sleep 60"]));
    holder.said("in");
    let refused = run(&server, &["release", "a"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    let released = expect(&server, &["release", "a", "--force", "--json"], 0);
    assert_eq!(json(&released), serde_json::json!({ "name": "a", "kind": "lock", "released": true }));
    assert_eq!(holder.ended().code, 124);
}
