use std::sync::Arc;
use std::time::{Duration, Instant};

use libdlock_testkit::{Proxy, Server, Side, eventually, within};

use super::super::Halt;
use super::pool::{SHORTEST_REST, TEST_AFTER};
use super::*;
use crate::backend::{Backend, Done};
use crate::config::Config;
use crate::event::Events;
use crate::lease::Renewed;
use crate::lock::Renew;
use crate::stats::Counters;
use crate::task::Tasks;
use crate::time::Clock;

const SOON: Duration = Duration::from_secs(5);

/// The connections of a client on which scripts are run, when it runs none but those of blocking calls. That these speak RESP2 is
/// told from 7.0 on only.
fn blocking_connections(server: &Server, client_name: &str) -> Vec<String> {
    let clients = server.cmd(&["CLIENT", "LIST"]);
    let ours = clients.text().lines().filter(|line| line.contains(client_name) && line.contains(" cmd=eval"));
    ours.map(str::to_owned).collect()
}

/// A client's backend, and the runtime that it needs while nobody is in it.
struct Setup {
    backend: Arc<Backend>,
    runtime: tokio::runtime::Runtime,
    tasks: Tasks,
}

impl Setup {
    fn new(url: &str) -> Setup {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let (config, tasks) = (Config::from_url(url).unwrap(), Tasks::new(runtime.handle().clone(), Events::default()));
        let counters = Arc::new(Counters::default());
        let backend = runtime.block_on(Backend::connect(&config, &tasks, &counters)).unwrap();
        Setup { backend: Arc::new(backend), runtime, tasks }
    }

    fn redis(&self) -> &RedisBackend {
        match &*self.backend {
            Backend::Redis(redis) => redis,
            Backend::Cluster(_) | Backend::Quorum(_) | Backend::Memory(_) => unreachable!("connected to a server"),
        }
    }

    /// Renews what nobody holds: harmless, and as idempotent as an acquire.
    fn ask(&self) -> Directly<Renewed> {
        let (name, step) = request();
        self.redis().run_directly(&name, &step, Tick::NEVER, Tick::NEVER)
    }

    fn warm_up(&self) {
        eventually(SOON, "a connection is opened", || matches!(self.ask(), Directly::Done(_)));
    }

    fn is_unavailable(&self) -> bool {
        matches!(self.ask(), Directly::Unavailable)
    }

    fn go_on(&self, begun: Begun) -> Done<Renewed> {
        let (name, step) = request();
        let deadline = Clock::System.now().plus(SOON);
        self.runtime
            .block_on(self.redis().run_by_link(&name, &step, deadline, Some(begun), false, None))
            .map_err(Halt::failed)
            .unwrap()
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.tasks.close();
    }
}

fn request() -> (ObjectName, Renew) {
    let step = Renew { owner: "nobody:1".to_owned(), lease: Duration::from_secs(1), cut: None };
    (ObjectName::new("", "jobs").unwrap(), step)
}

fn unanswered(asked: Directly<Renewed>) -> Begun {
    match asked {
        Directly::Unanswered(begun) => begun,
        _ => panic!("an answer, or no connection"),
    }
}

#[test]
fn a_call_takes_its_round_trip_on_its_own_thread() {
    let server = Server::start();
    let setup = Setup::new(&server.url());
    assert!(setup.is_unavailable(), "nobody waits for a connection");
    setup.warm_up();
    server.cmd(&["SCRIPT", "FLUSH"]);
    let Directly::Done(done) = setup.ask() else { panic!("a script that is not loaded is sent along") };
    assert_eq!((done.reply, done.echo_until), (Renewed::Gone, None));
}

#[test]
fn there_are_as_many_connections_as_allowed_and_none_when_off() {
    let server = Server::start();
    let off = Setup::new(&format!("{}?blocking_connections=0", server.url()));
    let two = Setup::new(&format!("{}?blocking_connections=2&client_name=two", server.url()));
    let blocking = || blocking_connections(&server, "name=two").len();
    let crowd = || {
        std::thread::scope(|scope| (0..8).for_each(|_| _ = scope.spawn(|| (0..500).for_each(|_| drop(two.ask())))));
    };
    eventually(SOON, "a second one is opened when the first is lent", || {
        crowd();
        blocking() == 2
    });
    crowd();
    assert_eq!(blocking(), 2);
    assert!((0..100).all(|_| off.is_unavailable()));
    two.tasks.close();
    eventually(SOON, "a closed client closes them", || blocking() == 0);
    assert!(two.is_unavailable());
}

#[test]
fn they_log_in_as_the_others_do() {
    let server = Server::options().user("alice on >s3cret ~* &* +@all").unix_socket().start();
    let tcp = format!("redis://alice:s3cret@127.0.0.1:{}/3", server.port());
    let unix = format!("redis+unix://{}?db=3&user=alice&password=s3cret", server.socket().display());
    for url in [tcp, unix] {
        let setup = Setup::new(&url);
        setup.warm_up();
        let blocking = blocking_connections(&server, "name=libdlock");
        assert!(blocking.iter().any(|line| line.contains("user=alice") && line.contains("db=3")), "{blocking:?}");
    }
}

#[test]
fn without_an_answer_it_gives_up_after_40_ms_and_rests() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let setup = Setup::new(&proxy.url());
    setup.warm_up();
    proxy.hold(Side::Replies);
    let start = Instant::now();
    let begun = unanswered(setup.ask());
    let took = start.elapsed();
    // Less than two of its patience: the other half is for a machine that is busy.
    assert!((PATIENCE..PATIENCE * 2).contains(&took), "{took:?}");
    assert_eq!(
        begun.echo_until,
        begun.sent.plus(Duration::from_secs(1)),
        "an attempt's bytes live for response_timeout"
    );
    let start = Instant::now();
    assert!(setup.is_unavailable());
    assert!(start.elapsed() < PATIENCE / 2, "a second call does not pay");
    proxy.heal();
    let done = setup.go_on(begun);
    assert_eq!((done.sent, done.echo_until), (begun.sent, Some(begun.echo_until)), "the lease counts from the first");
    assert!(!within(SHORTEST_REST / 2, || !setup.is_unavailable()), "it rests for a second");
    setup.warm_up();
}

#[test]
fn a_server_far_away_costs_no_call_anything() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    proxy.delay(Side::Replies, PATIENCE * 3 / 2);
    let setup = Setup::new(&proxy.url());
    // The slowest of all calls in this time, and how many connections there were meanwhile.
    let slowest = || {
        let (start, accepted) = (Instant::now(), proxy.accepted());
        let mut slowest = Duration::ZERO;
        while start.elapsed() < Duration::from_millis(1_500) {
            let asked = Instant::now();
            assert!(setup.is_unavailable());
            slowest = slowest.max(asked.elapsed());
            std::thread::yield_now();
        }
        let tried = proxy.accepted() - accepted;
        assert!(tried <= 5, "it does not try all the time: {tried} connections");
        slowest
    };
    // A busy machine adds to one try or another, a call that waits for the server to each.
    assert!((0..5).any(|_| slowest() < PATIENCE), "each try had a slow call");
}

#[test]
fn a_closed_connection_is_not_used_nor_one_of_a_former_server() {
    let mut server = Server::start();
    let setup = Setup::new(&server.url());
    setup.warm_up();
    for _ in 0..3 {
        std::thread::sleep(TEST_AFTER * 2); // what is idle for longer is tested
        server.cmd(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        assert!(setup.is_unavailable(), "a request that is lost for sure was not sent");
        setup.warm_up();
    }
    server.restart(libdlock_testkit::server::Data::Lost);
    eventually(SOON, "it works on the new server", || matches!(setup.ask(), Directly::Done(_)));
}

#[test]
fn a_server_that_refuses_for_now_is_left_to_the_other_way() {
    let server = Server::start();
    let setup = Setup::new(&server.url());
    setup.warm_up();
    let (mut other, busy) = (server.connect(), "while true do end");
    std::thread::scope(|scope| {
        server.cmd(&["CONFIG", "SET", "busy-reply-threshold", "1"]);
        scope.spawn(move || other.cmd(&["EVAL", busy, "0"]));
        eventually(SOON, "it refuses", || setup.is_unavailable());
        // It got an answer, so there is no rest: the next one works as soon as the server does.
        eventually(SOON, "the script ends", || server.cmd(&["SCRIPT", "KILL"]).text() == "OK");
        setup.warm_up();
    });
}

#[test]
fn an_error_for_good_is_the_callers() {
    let server = Server::options().user("bob on nopass ~other &* +@all").start();
    let setup = Setup::new(&format!("redis://bob:x@127.0.0.1:{}", server.port()));
    let mut failed = None;
    eventually(SOON, "it is answered", || {
        if let Directly::Failed(error) = setup.ask() {
            failed = Some(error);
        }
        failed.is_some()
    });
    assert_eq!(failed.unwrap().error.kind(), crate::error::ErrorKind::NoPermission);
}

/// `cargo test --release -p libdlock --lib direct -- --ignored --nocapture` on a quiet machine.
#[test]
#[ignore = "a measurement: what a direct call takes beside the same bytes on a bare socket"]
fn cost_of_a_direct_call() {
    const TIMES: u32 = 20_000;
    let server = Server::start();
    let setup = Setup::new(&server.url());
    setup.warm_up();
    let (_, step) = request();
    let mut call = Call::default();
    let (name, _) = request();
    let attempt = crate::step::Attempt { not_after: crate::time::ServerTime(1 << 50) };
    step.encode(&name, attempt, &mut call);
    let bytes = super::super::request::command("EVALSHA", Renew::script().sha1(crate::step::PubSub::Plain), &call)
        .get_packed_command();
    let mut bare = std::net::TcpStream::connect(server.address()).unwrap();
    bare.set_nodelay(true).unwrap();
    // The median, and not the mean: on a busy machine a call may well take longer than the direct path's patience.
    let median = |call: &mut dyn FnMut()| {
        let mut took: Vec<Duration> = (0..TIMES)
            .map(|_| {
                let start = Instant::now();
                call();
                start.elapsed()
            })
            .collect();
        took.sort();
        took[took.len() / 2]
    };
    for _ in 0..3 {
        let floor = median(&mut || {
            std::io::Write::write_all(&mut bare, &bytes).unwrap();
            assert!(std::io::Read::read(&mut bare, &mut [0; 64]).unwrap() > 0);
        });
        setup.warm_up();
        let mut direct = 0;
        let call = median(&mut || direct += u32::from(matches!(setup.ask(), Directly::Done(_))));
        assert!(direct > TIMES / 2, "{direct} calls of {TIMES} were direct");
        let hop = median(&mut || {
            setup.runtime.block_on(setup.backend.run(&name, &step, Tick::NEVER)).unwrap();
        });
        let ratio = call.as_secs_f64() / floor.as_secs_f64();
        println!("bare {floor:?}, direct {call:?} ({ratio:.2}), through the runtime {hop:?}");
    }
}

/// The rights of a user may differ from server to server. The address leads to the other one, and the supervised connection does not.
#[test]
fn a_server_that_hides_who_it_is_gets_no_blocking_calls() {
    let (known, hiding) = (Server::start(), Server::options().rights(vec!["-info".to_owned()]).start());
    let proxy = Proxy::start(known.address());
    let setup = Setup::new(&proxy.url());
    proxy.point_at(hiding.address());
    let is_done = || matches!(setup.ask(), Directly::Done(_));
    assert!(!within(Duration::from_secs(3), is_done), "by the one that the client does not know");
    assert!(hiding.info("stats", "total_connections_received") > 1, "it was tried");
    assert_eq!(hiding.info("commandstats", "cmdstat_evalsha:calls"), 0);
}
