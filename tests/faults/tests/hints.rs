//! Messages are hints: what the server shows counts. They can be lost, doubled, late, or sent by anybody.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::event::Level;
use libdlock::lease::{Grant, HoldState, HolderId, Lease, LossReason};
use libdlock::{Client, Config, Wait};
use libdlock_faults::{SOON, acquire, bounded, client, is_held, listeners, with_options};
use libdlock_testkit::{Action, Proxy, Server, Side, eventually, within};

const LEASE: Duration = Duration::from_millis(900);

/// The inbox of the client that holds this.
fn inbox(held: &Grant) -> String {
    let (client, _attempt) = held.owner().rsplit_once(':').expect("an owner");
    format!("dlock_inbox:{client}")
}

/// Waits until the holder's client would hear a message.
#[track_caller]
fn wait_until_it_listens(server: &Server, held: &Grant) {
    eventually(SOON, "the inbox is open", || listeners(server, &inbox(held)) == 1);
}

/// Sends `lost` again and again, for a time.
async fn cry_lost(server: &Server, held: &Grant, every: Duration, time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        server.cmd(&["PUBLISH", &inbox(held), "lost;job"]);
        tokio::time::sleep(every).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_messages_neither_end_nor_shorten_a_renewed_hold() {
    let server = Server::start();
    let client: Client = client(&with_options(&server.url(), "lease=900ms")).await;
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    wait_until_it_listens(&server, &held);
    // More often than renewals are due, and at a rate at which the looks themselves cannot keep up.
    for every in [LEASE / 4, Duration::from_millis(1)] {
        cry_lost(&server, &held, every, LEASE * 2).await;
        assert_eq!(held.state(), HoldState::Held, "a message every {every:?}");
        assert!(held.remaining() > LEASE / 2, "{:?} are left", held.remaining());
    }
    held.release().await.expect("release");
}

/// Otherwise anybody could prolong a hold that its holder has given an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_messages_do_not_prolong_a_lease_given() {
    let server = Server::start();
    let client: Client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let held = acquire(&lock, HolderId::fresh(), Wait::Try, Some(Lease::Fixed(LEASE))).await.expect("acquire");
    let granted = Instant::now();
    wait_until_it_listens(&server, &held);
    cry_lost(&server, &held, Duration::from_millis(5), LEASE / 2).await;
    assert_eq!(held.state(), HoldState::Held);
    let reason = bounded(SOON, "the lease ends", held.lost()).await;
    assert_eq!(reason, Some(LossReason::Expired));
    assert!(granted.elapsed() <= LEASE, "told after {:?}", granted.elapsed());
    eventually(LEASE, "the key is gone", || !is_held(&server, "job"));
}

/// The client has never waited for anything, so that only an inbox that is open from the start can hear it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_never_waited_hears_of_a_force_release() {
    let server = Server::start();
    let (holding, operating): (Client, Client) = (client(&server.url()).await, client(&server.url()).await);
    let (mine, theirs) = (holding.lock("job").expect("a name"), operating.lock("job").expect("a name"));
    for lease in [None, Some(Lease::Fixed(Duration::from_secs(60)))] {
        let me = HolderId::fresh();
        let held = acquire(&mine, me, Wait::Try, lease).await.expect("acquire");
        wait_until_it_listens(&server, &held);
        assert!(theirs.force_release().await.expect("force release"));
        // The next renewal is due in 10 s.
        let reason = bounded(Duration::from_secs(2), "it is told", held.lost()).await;
        assert_eq!(reason, Some(LossReason::Deleted), "{lease:?}");
        mine.release_as(me).await.expect_err("it was lost");
    }
}

/// What was said while nobody listened never comes, so that the holder has to look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_release_while_messages_are_cut_is_noticed() {
    let server = Server::start();
    let proxy = libdlock_testkit::Proxy::start(server.address());
    let client: Client = client(&proxy.url()).await;
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    wait_until_it_listens(&server, &held);
    proxy.refuse(true);
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    eventually(SOON, "nobody listens", || listeners(&server, &inbox(&held)) == 0);
    server.cmd(&["DEL", "job"]);
    proxy.refuse(false);
    let reason = bounded(Duration::from_secs(4), "it is told once it listens again", held.lost()).await;
    assert_eq!(reason, Some(LossReason::Deleted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_ones_own_force_release_a_try_is_granted() {
    let server = Server::start();
    let client: Client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let held = lock.acquire().await.expect("acquire");
    assert!(lock.force_release().await.expect("force release"));
    assert_eq!(held.state(), HoldState::Lost(LossReason::Deleted));
    let next = lock.try_acquire().await.expect("try").expect("it is free");
    held.release().await.expect_err("it was lost");
    assert!(next.is_valid() && is_held(&server, "job"), "the next hold is untouched");
    next.release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extend_by_less_than_remains_notices_that_the_key_is_gone() {
    let server = Server::start();
    let client: Client = client(&server.url()).await;
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    held.extend(Duration::from_secs(1)).await.expect("the server shows it");
    assert!(held.remaining() > Duration::from_secs(20), "it was not shortened");
    assert!(server.cmd(&["PTTL", "job"]).int() > 20_000, "nor on the server");
    server.cmd(&["DEL", "job"]);
    let error = held.extend(Duration::from_secs(1)).await.expect_err("the key is gone");
    assert_eq!(error.kind(), libdlock::ErrorKind::NotHeld);
    assert_eq!(held.loss(), Some(LossReason::Deleted));
}

/// A client and what it says, with levels.
async fn talking_client(url: &str) -> (Client, Arc<Mutex<Vec<(Level, String)>>>) {
    let mut config = Config::from_url(url).expect("a URL");
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    config.on_event(Arc::new(move |event| told.lock().expect("no panic").push((event.level, event.message.clone()))));
    (Client::connect_with(config).await.expect("connect"), events)
}

/// The access rules are wrong for a moment, and no connection breaks when they are right again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_inbox_is_subscribed_once_it_is_allowed() {
    let server = Server::start();
    let ((client, events), operating) = (talking_client(&server.url()).await, client(&server.url()).await);
    let told = |text: &str| -> Vec<Level> {
        let events = events.lock().expect("no panic");
        events.iter().filter(|(_, message)| message.contains(text)).map(|(level, _)| *level).collect()
    };
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    wait_until_it_listens(&server, &held);
    assert_eq!(server.cmd(&["ACL", "SETUSER", "default", "-subscribe"]).text(), "OK");
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    eventually(SOON, "the refusal is told", || told("refuses to let this user listen") == [Level::Warn]);
    // A retry every 3 s, and not one without pause.
    let refused = || server.info("commandstats", "cmdstat_subscribe:rejected_calls");
    let before = refused();
    eventually(SOON, "it is tried again", || refused() > before);
    assert!(!within(Duration::from_secs(1), || refused() > before + 1), "{} refusals in a second", refused() - before);
    assert_eq!(server.cmd(&["ACL", "SETUSER", "default", "+subscribe"]).text(), "OK");
    wait_until_it_listens(&server, &held);
    eventually(SOON, "it is told", || told("lets this user listen") == [Level::Info]);
    assert_eq!(told("refuses to let this user listen").len(), 1);
    assert!(operating.lock("job").expect("a name").force_release().await.expect("force release"));
    // The next renewal is due in 10 s.
    let reason = bounded(Duration::from_secs(2), "it is told", held.lost()).await;
    assert_eq!(reason, Some(LossReason::Deleted));
}

/// Each time that it listens again the client looks at everything that it holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_connection_cut_all_the_time_is_dialled_with_pauses() {
    const HOLDS: usize = 300;
    const CUTS: Duration = Duration::from_secs(3);
    let server = Server::start();
    let (client, events) = talking_client(&server.url()).await;
    let mut held = Vec::with_capacity(HOLDS);
    for n in 0..HOLDS {
        held.push(client.lock(&format!("job-{n}")).expect("a name").acquire().await.expect("acquire"));
    }
    let inbox = inbox(&held[0]);
    let listens = || listeners(&server, &inbox) == 1;
    eventually(SOON, "it listens", listens);
    // A connection that has served for a while is replaced at once.
    assert!(!within(Duration::from_millis(2_500), || !listens()), "it goes on listening");
    let connections = || server.info("stats", "total_connections_received");
    let (cut, connected, renewed) = (Instant::now(), connections(), client.stats().lock.renewals);
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    eventually(Duration::from_millis(500), "a single cut is mended at once", listens);
    while cut.elapsed() < CUTS {
        server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let connected = connections() - connected;
    assert!(connected <= 20, "{connected} connections in {CUTS:?}");
    eventually(SOON, "it listens again", listens);
    // At most one look at them all in a second, and one for each at the end.
    let looks = (client.stats().lock.renewals - renewed) as usize / HOLDS;
    assert!(looks <= 5, "{looks} looks at everything in {CUTS:?}");
    let events = events.lock().expect("no panic");
    let warned = events.iter().filter(|(level, message)| *level == Level::Warn && message.contains("for messages"));
    assert_eq!(warned.count(), 1, "{events:?}");
    assert!(held.iter().all(|held| held.loss().is_none()));
    println!("{connected} connections, {looks} looks");
}

/// They are two connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_release_that_overtakes_the_grant_is_heard() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let (holding, operating): (Client, Client) = (client(&proxy.url()).await, client(&server.url()).await);
    let (mine, theirs) = (holding.lock("job").expect("a name"), operating.lock("job").expect("a name"));
    let before = mine.acquire().await.expect("acquire");
    wait_until_it_listens(&server, &before);
    before.release().await.expect("release");

    let granted = proxy.on(&["EVALSHA", "job"], Action::HoldReply);
    let lease = Some(Lease::Fixed(Duration::from_secs(60)));
    let lock = mine.clone();
    let coming = tokio::spawn(async move { acquire(&lock, HolderId::fresh(), Wait::Forever, lease).await });
    granted.expect(SOON);
    eventually(SOON, "it is granted", || is_held(&server, "job"));
    let forwarded = proxy.bytes(Side::Replies);
    assert!(theirs.force_release().await.expect("force release"));
    eventually(SOON, "the message has come by", || proxy.bytes(Side::Replies) > forwarded);
    // Nothing outside shows when the client has dealt with what it got: too short a pause only makes the test easier to pass.
    tokio::time::sleep(Duration::from_millis(30)).await;
    granted.let_go();
    let held = bounded(SOON, "it is answered", coming).await.expect("no panic").expect("acquire");
    let reason = bounded(Duration::from_secs(2), "it is told", held.lost()).await;
    assert_eq!(reason, Some(LossReason::Deleted));
}
