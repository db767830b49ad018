//! `dlock limit`, `id`, `queue` and `acl`.

use std::collections::HashSet;

use crate::common::{Ended, at, dlock, expect, start};
use libdlock_testkit::Server;
use serde_json::Value;

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn a_limiter_lets_through_what_its_rate_allows() {
    let server = Server::start();
    let first = json(&expect(&server, &["limit", "api", "--rate", "2/m", "--json"], 0));
    assert_eq!((&first["allowed"], &first["remaining"], &first["limit"]), (&true.into(), &1.into(), &2.into()));
    let ran = expect(&server, &["limit", "api", "-r", "2/m", "--", "sh", "-c", "echo ran; exit 7"], 7);
    assert_eq!(ran.stdout, "ran\n");
    let refused = expect(&server, &["limit", "api", "-r", "2/m", "--", "echo", "ran"], 1);
    assert!(refused.stdout.is_empty() && refused.stderr.contains("retry in"), "{refused:?}");
    expect(&server, &["limit", "api", "-r", "2/m", "-E", "75", "--", "echo", "ran"], 75);
    let refused = expect(&server, &["limit", "api", "-r", "2/m", "--json", "--", "echo", "ran"], 1);
    let told: Value = serde_json::from_str(&refused.stderr).unwrap_or_else(|error| panic!("{error}: {refused:?}"));
    assert!(refused.stdout.is_empty() && told["allowed"] == false, "{refused:?}");
    let told = json(&expect(&server, &["limit", "api", "-r", "2/m", "--json"], 1));
    assert!((1..=30_000).contains(&told["retry_after_ms"].as_u64().unwrap()), "{told}");
    // Errors of the call: no other moment would be better.
    let never: [(&[&str], &str); 3] = [
        (&["-r", "2/m", "--cost", "3"], "a cost of 3 is more than api ever has at once: 2"),
        (&["-r", "2/m", "--cost", "3", "-E", "75", "--", "echo", "ran"], "more than api ever has"),
        (&["-r", "0/m"], "a rate of 0"),
    ];
    for (words, says) in never {
        let wrong = expect(&server, &[&["limit", "api"], words].concat(), 125);
        assert!(wrong.stdout.is_empty() && wrong.stderr.contains(says), "{wrong:?}");
    }
    let wrong = expect(&server, &["limit", "api", "-r", "2/m", "--cost", "3", "--json"], 125);
    assert!(format!("{wrong:?}").contains("INVALID_ARGUMENT"), "{wrong:?}");
    expect(&server, &["limit", "quick", "-r", "20/s", "--burst", "1"], 0);
    expect(&server, &["limit", "quick", "-r", "20/s", "--burst", "1", "--wait", "5s"], 0);
    expect(&server, &["limit", "log", "-r", "1/m", "-r", "5/h", "--algorithm", "sliding_log"], 0);
    expect(&server, &["limit", "log", "-r", "1/m", "-r", "5/h", "--algorithm", "sliding_log"], 1);
    expect(&server, &["limit", "free", "-r", "1/s", "--", "no-such-program"], 127);
    for (rate, says) in [("2", "10/s"), ("2/", "10/s"), ("x/s", "10/s"), ("2/fortnight", "10/s")] {
        let wrong = expect(&server, &["limit", "api", "-r", rate], 125);
        assert!(wrong.stderr.contains(says), "{rate}: {wrong:?}");
    }
}

#[test]
fn ids_are_unique_and_can_be_taken_apart() {
    let server = Server::start();
    let mut all = HashSet::new();
    for _ in 0..3 {
        let ids = expect(&server, &["id", "-n", "100"], 0).stdout;
        all.extend(ids.lines().map(str::to_owned));
    }
    assert_eq!(all.len(), 300);
    let short = json(&expect(&server, &["id", "--base", "58", "--json"], 0));
    assert!(short["ids"][0].as_str().unwrap().len() <= 11, "{short}");
    // Without a server.
    let alone = |args: &[&str], code: i32| {
        let mut command = dlock(args);
        command.env("DLOCK_URL", "redis://127.0.0.1:1");
        let ended = start(command).ended();
        assert_eq!(ended.code, code, "{args:?}: {ended:?}");
        ended
    };
    let id = alone(&["id", "--worker", "3", "--datacenter", "2"], 0).stdout.trim().to_owned();
    let parts = json(&alone(&["id", "--decode", &id, "--json"], 0));
    assert_eq!((&parts["worker"], &parts["datacenter"]), (&3.into(), &2.into()));
    assert!(alone(&["id", "--decode", &id], 0).stdout.contains("T"));
    for args in [
        &["id", "--decode", "x"][..],
        &["id", "--base", "7"],
        &["id", "--layout", "mine"],
        &["id", "--worker", "32"],
        &["id", "--worker", "1", "-n", "2000000"],
        &["id", "--datacenter", "1"],
    ] {
        alone(args, 125);
    }
}

#[test]
fn a_job_goes_through_the_queue_from_shell_to_shell() {
    let server = Server::start();
    let id = expect(&server, &["queue", "put", "q", "hello"], 0).stdout.trim().to_owned();
    let script = "cat; echo \" $DLOCK_JOB_ID $DLOCK_JOB_ATTEMPT $DLOCK_QUEUE\"; exit $1";
    let failed = expect(&server, &["queue", "take", "q", "--retry-after", "0", "--", "sh", "-c", script, "sh", "4"], 4);
    assert_eq!(failed.stdout, format!("hello {id} 1 q\n"));
    let done = expect(&server, &["queue", "take", "q", "--", "sh", "-c", script, "sh", "0"], 0);
    assert_eq!(done.stdout, format!("hello {id} 2 q\n"));
    expect(&server, &["queue", "take", "q", "--", "true"], 1);
    expect(&server, &["queue", "take", "q", "-E", "66", "-w", "1s"], 66);

    let mut put = start(at(&server, &["queue", "put", "q", "--id", "one", "--json"]));
    put.write(b"bytes \xff\0");
    assert_eq!(json(&put.ended()), serde_json::json!({ "queue": "q", "id": "one", "new": true }));
    let again = expect(&server, &["queue", "put", "q", "x", "--id", "one"], 1);
    assert!(again.stderr.contains("is there"), "{again:?}");
    expect(&server, &["queue", "put", "q", "late", "--delay", "1h"], 0);
    let listed = json(&expect(&server, &["queue", "ls", "q", "--json"], 0));
    assert_eq!((&listed["ready"], &listed["delayed"]), (&1.into(), &1.into()));
    assert_eq!(listed["jobs"][0]["payload_hex"], "627974657320ff00");
    assert_eq!(listed["jobs"][1]["payload"], "late");
    let text = expect(&server, &["queue", "ls", "q"], 0).stdout;
    assert!(text.contains("8 bytes") && text.contains("1 ready, 1 delayed"), "{text}");
    let taken = json(&expect(&server, &["queue", "take", "q", "--json"], 0));
    let none = json(&expect(&server, &["queue", "take", "empty", "--json"], 1));
    assert_eq!(none, serde_json::json!({ "queue": "empty", "id": null }));
    assert_eq!((&taken["id"], &taken["attempt"]), (&"one".into(), &1.into()));
}

const FIRST_IS_DUE: &str = "return redis.call('ZADD', KEYS[1], 'XX', 1, redis.call('ZRANGE', KEYS[1], 0, 0)[1])";

/// When the first job that waits is due, less now, in seconds.
fn due_in(server: &Server) -> f64 {
    let script =
        "local t = redis.call('TIME'); return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] - t[1] * 1000";
    server.cmd(&["EVAL", script, "1", "dlock_queue_due:{q}"]).int() as f64 / 1000.0
}

#[test]
fn a_job_whose_command_fails_comes_again_later_each_time() {
    let server = Server::start();
    expect(&server, &["queue", "put", "q", "x"], 0);
    let fails = ["--retry-after", "100s", "--retry-at-most", "150s", "--", "false"];
    for (attempt, most) in [(1, 100.0), (2, 150.0), (3, 150.0)] {
        expect(&server, &[&["queue", "take", "q"][..], &fails].concat(), 1);
        let due = due_in(&server);
        // Less up to a half by chance, and what passed until it was asked.
        assert!(due > most / 2.0 - 10.0 && due <= most + 1.0, "attempt {attempt}: {due}");
        server.cmd(&["EVAL", FIRST_IS_DUE, "1", "dlock_queue_due:{q}"]);
    }
}

#[test]
fn a_job_that_fails_too_often_is_dead_until_it_is_put_back() {
    let server = Server::start();
    expect(&server, &["queue", "put", "q", "x", "--id", "a", "--max-attempts", "1"], 0);
    expect(&server, &["queue", "take", "q", "--", "sh", "-c", "exit 3"], 3);
    let dead = json(&expect(&server, &["queue", "dead", "q", "--json"], 0));
    assert_eq!(
        (&dead["dead"][0]["id"], &dead["dead"][0]["reason"]),
        (&"a".into(), &"its command ended with code 3".into())
    );
    assert!(expect(&server, &["queue", "dead", "q"], 0).stdout.contains("REASON"));
    expect(&server, &["queue", "dead", "q", "--requeue", "other"], 1);
    assert_eq!(expect(&server, &["queue", "dead", "q", "--requeue", "a"], 0).stdout, "requeued 1\n");
    expect(&server, &["queue", "take", "q", "--", "false"], 1);
    assert_eq!(expect(&server, &["queue", "dead", "q", "--requeue-all"], 0).stdout, "requeued 1\n");
    expect(&server, &["queue", "take", "q", "--", "false"], 1);
    assert_eq!(json(&expect(&server, &["queue", "dead", "q", "--remove", "a", "--json"], 0))["removed"], 1);
    expect(&server, &["queue", "dead", "q", "--remove", "a", "--requeue-all"], 125);
    expect(&server, &["queue", "ls", "q", "--most", "0"], 125);
}

#[test]
fn the_job_of_a_worker_that_is_killed_comes_again() {
    let server = Server::start();
    expect(&server, &["queue", "put", "q", "x"], 0);
    let worker =
        start(at(&server, &["queue", "take", "q", "--lease", "3s", "--", "sh", "-c", "echo in; exec sleep 60"]));
    worker.said("in");
    worker.signal("KILL");
    let next =
        expect(&server, &["queue", "take", "q", "--wait", "10s", "--", "sh", "-c", "echo $DLOCK_JOB_ATTEMPT"], 0);
    assert_eq!(next.stdout, "2\n");
    drop(worker);
}

#[test]
fn the_printed_rules_are_enough_and_not_more() {
    let server = Server::start();
    let printed = |args: &[&str]| {
        let mut all = vec!["acl"];
        all.extend(args);
        start(dlock(&all)).ended().stdout.trim().to_owned()
    };
    let line = printed(&["--prefix", "shop:", "--user", "shop", "--tools"]);
    let mut words: Vec<&str> = line.split(' ').collect();
    words.push(">secret");
    assert_eq!(server.cmd(&words).text(), "OK", "{line}");
    let as_shop = |args: &[&str]| {
        let mut command = dlock(&[&["-o", "key_prefix=shop:"], args].concat());
        command.env("DLOCK_URL", format!("redis://shop@{}", server.address()));
        command.env("DLOCK_PASSWORD", "secret");
        start(command).ended()
    };
    // Each command once, with names that bring their own braces, too.
    for args in [
        &["run", "a", "--", "true"][..],
        &["run", "a{1}", "--", "true"],
        &["limit", "b", "-r", "1/s"],
        &["limit", "b{1}", "-r", "1/s", "--algorithm", "sliding_log"],
        &["id", "--pool", "c"],
        &["queue", "put", "d", "x"],
        &["queue", "take", "d{1}", "-E", "0"],
        &["release", "e", "--force", "--rw"],
        &["ls"],
    ] {
        let ended = as_shop(args);
        let nobody = args[0] == "release" && ended.code == 1;
        assert!(ended.code == 0 || nobody, "{args:?}: {ended:?}");
    }
    // The keys of others are out of reach.
    let mut other = dlock(&["run", "a", "--", "true"]);
    other.env("DLOCK_URL", format!("redis://shop@{}", server.address())).env("DLOCK_PASSWORD", "secret");
    let refused = start(other).ended();
    assert!(refused.code == 125 && refused.stderr.contains("forbid"), "{refused:?}");

    let locks = printed(&["--kind", "lock"]);
    assert!(locks.contains(" ~* ") && !locks.contains("+rpush") && !locks.contains("+scan"), "{locks}");
    assert_eq!(server.cmd(&locks.split(' ').collect::<Vec<_>>()).text(), "OK");
    assert_eq!(start(dlock(&["acl", "--user", "a b"])).ended().code, 125);
    let rules = json(&start(dlock(&["acl", "--json"])).ended());
    assert!(
        rules["rules"].as_array().unwrap().len() > 40 && rules["line"].as_str().unwrap().starts_with("ACL SETUSER")
    );
}
