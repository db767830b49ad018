//! A client listens to one sentinel at a time, whichever of them are there.

use std::sync::Arc;

use libdlock::{Client, Config};
use libdlock_faults::{
    SOON, bounded, client,
    failovers::{FAILOVER, FOLLOWED, Fault},
    slack, with_options,
};
use libdlock_testkit::{Sentinels, eventually};

const OPTIONS: &str = "client_name=listens&ping_interval=500ms&response_timeout=500ms";

/// How many connections the client has on each sentinel; none on one that does not answer.
fn connections(deployment: &Sentinels) -> Vec<usize> {
    let count = |at: usize| {
        let list = deployment.sentinels[at].try_cmd(&["CLIENT", "LIST"]);
        list.map_or(0, |list| list.text().lines().filter(|line| line.contains("name=listens")).count())
    };
    (0..deployment.sentinels.len()).map(count).collect()
}

/// The number of the only sentinel that the client is connected to.
#[track_caller]
fn listened_to(deployment: &Sentinels) -> usize {
    let mut found = None;
    eventually(SOON, "the client listens to one sentinel", || {
        let connections = connections(deployment);
        found = connections.iter().position(|count| *count == 1).filter(|_| connections.iter().sum::<usize>() == 1);
        found.is_some()
    });
    found.expect("found above")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_sentinel_is_listened_to_when_one_dies_or_hangs() {
    let mut deployment = Sentinels::start();
    let client = client(&with_options(&deployment.url(), OPTIONS)).await;
    for hangs in [false, true, false] {
        let sentinel = listened_to(&deployment);
        match hangs {
            true => deployment.sentinels[sentinel].pause(),
            false => deployment.sentinels[sentinel].stop(),
        }
        let is_another = || {
            let others = (0..3).filter(|at| *at != sentinel);
            others
                .map(|at| deployment.sentinels[at].try_cmd(&["CLIENT", "LIST"]))
                .any(|list| list.is_ok_and(|list| list.text().contains("name=listens")))
        };
        eventually(SOON, "another one is listened to", is_another);
        match hangs {
            true => deployment.sentinels[sentinel].resume(),
            false => deployment.sentinels[sentinel].start_again(),
        }
    }
    deployment.settle();
    listened_to(&deployment);
    let lock = client.lock("job").expect("a name");
    let former = deployment.master();
    Fault::Stopped.begin(&mut deployment, former);
    deployment.promotion(former, FAILOVER);
    let held = bounded(FOLLOWED, "a try", lock.try_acquire()).await.expect("no error").expect("it is free");
    bounded(slack() * 4, "a release", held.release()).await.expect("release");
    Fault::Stopped.end(&mut deployment, former);
}

/// The URL names one sentinel, which dies together with the master.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_that_the_url_does_not_name_are_asked_too() {
    let mut deployment = Sentinels::start();
    let client = client(&with_options(&deployment.url_of(&[0]), OPTIONS)).await;
    let lock = client.lock("job").expect("a name");
    let former = deployment.master();
    deployment.sentinels[0].stop();
    Fault::Killed.begin(&mut deployment, former);
    let mut promoted = None;
    eventually(FAILOVER, "the others promote another one", || {
        promoted = deployment.named_by(1).filter(|named| *named != former);
        promoted.is_some()
    });
    let _held = bounded(FOLLOWED, "a try", lock.try_acquire()).await.expect("no error").expect("it is free");
    assert!(libdlock_faults::is_held(&deployment.nodes[promoted.expect("found above")].server, "job"));
}

/// A sentinel that has lost touch with the others hears of no failover.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_without_the_others_is_not_listened_to() {
    let deployment = Sentinels::start();
    let (tell, told) = std::sync::mpsc::channel();
    let mut config = Config::from_url(&with_options(&deployment.url(), OPTIONS)).expect("URL");
    config.on_event(Arc::new(move |event| {
        let _ = tell.send(event.message.clone());
    }));
    let _client = Client::connect_with(config).await.expect("connected");
    let alone = listened_to(&deployment);
    let others: Vec<usize> = (0..3).filter(|at| *at != alone).collect();
    others.iter().for_each(|at| deployment.sentinels[*at].pause());
    let address = deployment.sentinels[alone].address().to_string();
    eventually(SOON, "the client leaves it", || {
        told.try_iter()
            .any(|message| message.contains(&address) && message.contains("is cut off from most of the others"))
    });
    others.iter().for_each(|at| deployment.sentinels[*at].resume());
    listened_to(&deployment);
}
