//! What a user of a delayed queue may not do: the printed rights suffice, and each that lacks is named.

use std::time::Duration;

use libdlock::queue::{NewJob, QueueOptions};
use libdlock::{Client, Error, ErrorKind, Queue, Result};
use libdlock_faults::jobs::is_whole;
use libdlock_faults::{SOON, bounded, client, with_options};
use libdlock_testkit::{Server, eventually};

/// The access that `docs/operations.md` prints for queues alone, and for every connection.
fn printed() -> String {
    const CONNECTION: &str = "+hello +auth +ping +time +select +client|setname +info +eval +evalsha";
    let page = include_str!("../../../docs/operations.md");
    assert!(page.contains(CONNECTION), "the page says what every connection needs");
    let (_, rules) = page.split_once("\nqueue\n").expect("the page shows the rules of a queue");
    let (rules, _) = rules.split_once("\nid generator\n").expect("and then those of another one");
    let rules = rules.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("resetkeys resetchannels -@all {CONNECTION} {rules}")
}

/// Of the same table that the page is made from.
fn of_queues() -> (Vec<String>, Vec<String>, Vec<String>) {
    let table: serde_json::Value =
        serde_json::from_str(include_str!("../../vectors/access.json")).expect("access.json is JSON");
    let list = |list: &serde_json::Value| -> Vec<String> {
        let words = list.as_array().expect("a list").iter();
        words.map(|word| word.as_str().expect("a word").to_owned()).collect()
    };
    let queue = &table["queue"];
    (list(&queue["keys"]), list(&queue["channels"]), list(&table["scripts"]))
}

struct Place {
    server: Server,
    /// Has all rights.
    admin: Queue,
    _clients: Vec<Client>,
    queue: Queue,
}

impl Place {
    async fn new(rules: &str) -> Place {
        let server = Server::options().user(&format!("app on >secret {rules}")).start();
        let url = with_options(&format!("redis://app:secret@{}", server.address()), "lease=60s");
        let (all, app) = (client(&server.url()).await, client(&url).await);
        let (admin, queue) = (
            all.queue_with("mails", QueueOptions::default().max_attempts(1)).expect("a name"),
            app.queue("mails").expect("a name"),
        );
        Place { server, admin, _clients: vec![all, app], queue }
    }

    fn set(&self, rule: &str) {
        assert_eq!(self.server.cmd(&["ACL", "SETUSER", "app", rule]).text(), "OK", "{rule}");
    }
}

/// Every verb once; each with what became of it.
async fn verbs(queue: &Queue, admin: &Queue) -> Vec<(&'static str, Result<()>)> {
    let mut said = Vec::new();
    // Something is there, whatever the user may not do; one of it is dead.
    admin.put_many(["a", "b", "c", "d"].map(|id| NewJob::new("x").id(id))).await.expect("put");
    admin.take().await.expect("take").nack("dead").await.expect("nack");
    let jobs = ["1", "2", "3", "4"].map(|id| NewJob::new("x").id(id));
    said.push(("put", queue.put_many(jobs).await.map(drop)));
    said.push(("put without an id", queue.put(NewJob::new("x").delay(Duration::from_secs(60))).await.map(drop)));
    for end in ["ack", "nack", "extend"] {
        match bounded(SOON, "an answer", queue.try_take()).await {
            Ok(None) => {}
            Err(error) => said.push(("take", Err(error))),
            Ok(Some(delivery)) => {
                let ended = match end {
                    "ack" => delivery.ack().await,
                    "nack" => delivery.nack_after(Duration::from_secs(1), "later").await,
                    _ => delivery.extend(Duration::from_secs(90)).await,
                };
                said.push((end, ended));
            }
        }
    }
    said.push(("wait", bounded(SOON, "an answer", queue.take_timeout(Duration::from_millis(30))).await.map(drop)));
    said.push(("counts", queue.counts().await.map(drop)));
    said.push(("peek", queue.peek(10).await.map(drop)));
    said.push(("cancel", queue.cancel("4").await.map(drop)));
    said.push(("requeue", queue.requeue_all_dead().await.map(drop)));
    said.push(("purge", queue.purge().await.map(drop)));
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_printed_rights_suffice_for_every_verb() {
    let (keys, channels, _) = of_queues();
    let rules = printed();
    for rule in keys.iter().map(|key| format!("~{key}")).chain(channels.iter().map(|channel| format!("&{channel}"))) {
        assert!(rules.split(' ').any(|word| word == rule), "{rule} is not printed: {rules}");
    }
    let place = Place::new(&rules).await;
    for (verb, said) in verbs(&place.queue, &place.admin).await {
        said.unwrap_or_else(|error| panic!("{verb}: {error}"));
    }
    // A taker in line is told by the message of a put.
    let waiting = tokio::spawn({
        let queue = place.queue.clone();
        async move { queue.take().await }
    });
    eventually(SOON, "it waits", || place.server.cmd(&["ZCARD", "dlock_queue_queue:{mails}"]).int() == 1);
    place.admin.put("x").await.expect("put");
    let delivery = bounded(Duration::from_millis(700), "told, and not by its timer", waiting).await;
    delivery.expect("no panic").expect("take").ack().await.expect("ack");
    // Of connections something is refused that they do without, such as CLIENT SETINFO.
    let refused = place.server.cmd(&["ACL", "LOG"]);
    let of_scripts = refused.array().iter().map(|entry| format!("{entry:?}")).filter(|entry| entry.contains("lua"));
    assert_eq!(of_scripts.collect::<Vec<_>>(), [""; 0]);
}

fn names(error: &Error, right: &str) -> bool {
    error.message().to_lowercase().contains(&right.to_lowercase())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_command_that_lacks_is_named_and_nothing_is_half_done() {
    let (_, _, commands) = of_queues();
    let rules = commands.iter().map(|command| format!("+{command}")).collect::<Vec<_>>().join(" ");
    let rules = format!("~* &* +eval +evalsha +time +ping +info +subscribe +unsubscribe {rules}");
    let place = Place::new(&rules).await;
    let mut needed = Vec::new();
    for command in commands.iter().filter(|command| *command != "publish") {
        place.set(&format!("-{command}"));
        let said = verbs(&place.queue, &place.admin).await;
        place.set(&format!("+{command}"));
        for (verb, said) in &said {
            if let Err(error) = said {
                // What cannot be read may be somebody else's by now: it is lost, as with every kind of object that is held.
                if (command.as_str(), *verb) == ("zscore", "extend") {
                    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
                    continue;
                }
                assert_eq!(error.kind(), ErrorKind::NoPermission, "-{command}, {verb}: {error}");
                assert!(names(error, command), "-{command}, {verb}: {error}");
                needed.push(command.as_str());
            }
        }
        is_whole(&place.server, command);
        place.server.cmd(&["FLUSHALL"]);
    }
    needed.dedup();
    for command in ["get", "set", "hget", "hset", "hdel", "hmget", "zadd", "zcount", "zrange", "zrem"] {
        assert!(needed.contains(&command), "{command} is not needed: {needed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_key_that_lacks_is_named() {
    let (keys, _, commands) = of_queues();
    let rules = commands.iter().map(|command| format!("+{command}")).collect::<Vec<_>>().join(" ");
    let rules = format!("&* +eval +evalsha +time +ping +info +subscribe +unsubscribe {rules}");
    let place = Place::new(&format!("{rules} ~*")).await;
    for lacks in &keys {
        place.set("resetkeys");
        for key in keys.iter().filter(|key| *key != lacks) {
            place.set(&format!("~{key}"));
        }
        let said = verbs(&place.queue, &place.admin).await;
        place.set("~*");
        let refused: Vec<_> =
            said.into_iter().filter_map(|(verb, said)| said.err().map(|error| (verb, error))).collect();
        assert!(!refused.is_empty(), "without {lacks}: nobody noticed");
        for (verb, error) in &refused {
            assert_eq!(error.kind(), ErrorKind::NoPermission, "without {lacks}, {verb}: {error}");
            assert!(names(error, lacks), "without {lacks}, {verb}: {error}");
        }
        is_whole(&place.server, lacks);
        place.server.cmd(&["FLUSHALL"]);
    }
}
