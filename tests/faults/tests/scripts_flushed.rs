//! The server forgets our scripts between any two calls.

use std::sync::atomic::{AtomicBool, Ordering};

use libdlock_faults::{SOON, bounded, client, is_held, with_options};
use libdlock_testkit::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn script_flush_between_any_two_calls_is_no_error_to_a_caller() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let flush = || assert_eq!(server.cmd(&["SCRIPT", "FLUSH"]).text(), "OK");
    let lock = client.lock("job").expect("a name");
    for _ in 0..50 {
        flush();
        let held = lock.acquire().await.expect("acquire");
        flush();
        held.extend(std::time::Duration::from_secs(40)).await.expect("extend");
        flush();
        assert!(lock.inspect().await.expect("inspect").ours);
        flush();
        held.release().await.expect("release");
        flush();
        assert!(!lock.force_release().await.expect("force release"));
    }
    assert!(!is_held(&server, "job"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgets_scripts_is_no_error_to_any_caller() {
    const CALLERS: usize = 16;
    const ROUNDS: usize = 40;
    let server = Server::start();
    // Every hand-over by the server: within the process it would take none of its scripts.
    let client = client(&with_options(&server.url(), "lease=300ms&cohort_max=1")).await;
    let done = AtomicBool::new(false);
    let flushes = std::thread::scope(|scope| {
        let flushing = scope.spawn(|| {
            let mut conn = server.connect();
            let mut flushes = 0;
            while !done.load(Ordering::Relaxed) {
                conn.cmd(&["SCRIPT", "FLUSH"]).expect("flush");
                flushes += 1;
            }
            flushes
        });
        let callers = async {
            let mut tasks = tokio::task::JoinSet::new();
            for n in 0..CALLERS {
                let lock = client.lock(&format!("job-{}", n % 4)).expect("a name");
                tasks.spawn(async move {
                    for _ in 0..ROUNDS {
                        lock.acquire().await?.release().await?;
                    }
                    Ok::<_, libdlock::Error>(())
                });
            }
            while let Some(task) = tasks.join_next().await {
                task.expect("no panic").expect("no error to a caller");
            }
        };
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(bounded(SOON * 3, "all rounds", callers))
        });
        done.store(true, Ordering::Relaxed);
        flushing.join().expect("no panic")
    });
    assert!(flushes > CALLERS * ROUNDS / 4, "only {flushes} flushes fell into the run");
}

/// Redis keeps at most 500 scripts that came by EVAL in some versions and drops the oldest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_hundred_foreign_scripts_are_no_error_to_a_caller() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let held = lock.acquire().await.expect("acquire");
    for n in 0..600 {
        assert_eq!(server.cmd(&["EVAL", &format!("return {n}"), "0"]).int(), n);
    }
    held.release().await.expect("release");
    lock.acquire().await.expect("acquire").release().await.expect("release");
}
