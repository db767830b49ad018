//! Bloom filters over faulty connections.

use std::collections::BTreeSet;
use std::time::Duration;

use libdlock::bloom::BloomFilterOptions;
use libdlock::{Client, ErrorKind};
use libdlock_testkit::{Action, Proxy, Scripted, Server};

#[tokio::test]
async fn a_lost_reply_is_unknown_or_answered_rightly() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = Client::connect(&proxy.url()).await.unwrap();
    client.bloom_filter("warm", 100, 0.01).unwrap().add(["a"]).await.unwrap();
    let filter = client.bloom_filter("seen", 1_000, 0.001).unwrap();
    // What was added by the lost attempt, or by another before it: nobody can tell.
    let lost = proxy.on(&["EVALSHA", "seen"], Action::CutReply(0));
    let error = filter.add(["a", "b"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(lost.hits(), 1);
    assert_eq!(filter.contains(["a", "b", "c"]).await.unwrap(), [true, true, false]);
    assert_eq!(filter.add(["a", "b", "c"]).await.unwrap(), [false, false, true]);
    // Who reads loses nothing by a lost reply.
    for _ in 0..5 {
        proxy.on(&["EVALSHA", "seen"], Action::CutReply(0));
        assert_eq!(filter.contains(["a", "e"]).await.unwrap(), [true, false]);
    }
    proxy.on(&["EVALSHA", "seen"], Action::CutReply(0));
    assert_eq!(filter.count().await.unwrap(), 3);
    // Carried out once, and answered rightly.
    client.bloom_filter("warm", 100, 0.01).unwrap().clear().await.unwrap();
    let lost = proxy.on(&["EVALSHA", "seen"], Action::CutReply(0));
    assert!(filter.clear().await.unwrap());
    assert_eq!(lost.hits(), 1);
    assert!(!filter.clear().await.unwrap());
}

#[test]
fn threads_add_each_item_once() {
    for url in
        [Some(Server::start()), None].iter().map(|server| server.as_ref().map_or("memory://".to_owned(), Server::url))
    {
        let client = Client::blocking_connect(&url).unwrap();
        let filter = client.bloom_filter("seen", 100_000, 1e-9).unwrap();
        let items: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
        let add = || items.chunks(50).flat_map(|some| client.block_on(filter.add(some)).unwrap()).collect::<Vec<_>>();
        let new: Vec<Vec<bool>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let times: BTreeSet<usize> = (0..2_000).map(|at| new.iter().filter(|new| new[at]).count()).collect();
        assert_eq!(times, BTreeSet::from([1]), "each item was new to one thread");
    }
}

#[tokio::test]
async fn absurd_replies_are_errors_of_the_server() {
    let replies = [
        "$1\r\n1\r\n",
        "$3\r\n101\r\n",
        "$2\r\n12\r\n",
        "$0\r\n\r\n",
        "$-1\r\n",
        "+OK\r\n",
        ":-1\r\n",
        "*0\r\n",
        "*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
        "*4\r\n:5\r\n*0\r\n:1\r\n$2\r\n\u{1b}[\r\n",
        "%1\r\n+a\r\n+b\r\n",
        ",inf\r\n",
        "-ERR \u{1b}[31m s3cret\r\n",
    ];
    for reply in replies {
        let server =
            Scripted::start(move |words| words[0].to_ascii_uppercase().starts_with("EVAL").then(|| reply.to_owned()));
        let filter = Client::connect(&server.url()).await.unwrap().bloom_filter("seen", 100, 0.01).unwrap();
        let errors = [
            filter.add(["a", "b"]).await.err(),
            filter.contains(["a", "b"]).await.err(),
            filter.count().await.err(),
            filter.false_positive_rate().await.err(),
            filter.clear().await.err(),
        ];
        for (at, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_or_else(|| panic!("call {at} believes {reply:?}"));
            assert!(matches!(error.kind(), ErrorKind::Server | ErrorKind::WrongType), "{reply:?}: {error}");
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
    }
}

/// The bits must not outlive the configuration by the time that a script takes.
#[tokio::test]
async fn a_filter_that_ends_is_taken_for_nothing_else() {
    let server = Server::start();
    let client = Client::connect(&format!("{}?response_timeout=10s", server.url())).await.unwrap();
    let items: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
    for round in 0..60 {
        let options = BloomFilterOptions::new(2_000, 0.01).ttl(Duration::from_millis(20));
        let filter = client.bloom_filter_with(&format!("seen/{round}"), options).unwrap();
        filter.add(&items).await.unwrap();
        if round % 2 == 0 {
            // The next that adds makes the bits anew.
            server.cmd(&["DEL", &format!("seen/{round}")]);
            filter.add(&items).await.unwrap();
        }
        let (bits, config) = (format!("seen/{round}"), format!("{{seen/{round}}}:config"));
        // At one time: a script's stands still.
        let both = "return {redis.call('PEXPIRETIME', KEYS[1]), redis.call('PEXPIRETIME', KEYS[2])}";
        let ends = server.cmd(&["EVAL", both, "2", &bits, &config]);
        let ends: Vec<i64> = ends.array().iter().map(|end| end.int()).collect();
        assert!(ends[0] <= ends[1], "round {round}: {ends:?}");
        while filter.contains(["1"]).await.unwrap() == [true] {}
    }
}
