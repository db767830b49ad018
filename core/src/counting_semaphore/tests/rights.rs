//! Users of the server who lack a right: an error has taken and brought nothing, and what may be missing is said.

use super::ending::{Told, client_that_tells};
use super::*;
use crate::counting_semaphore::CountingState;
use crate::step::State;

/// Every right is missing to a user of its own.
fn commands() -> Vec<&'static str> {
    let rights = CountingState::ACCESS.split_whitespace().filter_map(|word| word.strip_prefix('+'));
    // Without these nobody gets as far as a script.
    rights.filter(|right| !["eval", "evalsha", "time", "ping", "info"].contains(right)).collect()
}

fn server() -> Server {
    let server = Server::options();
    let user = |command: &&str| format!("no-{command} on >secret ~* &* +@all -{command}");
    commands().iter().map(user).fold(server, |server, user| server.user(&user)).start()
}

/// A client of the user who lacks this command, and its warnings.
async fn without(server: &Server, command: &str, options: &str) -> (Client, Told) {
    client_that_tells(&format!("redis://no-{command}:secret@{}?{options}", server.address())).await
}

fn number(server: &Server, name: &str) -> Option<i64> {
    let text = server.cmd(&["GET", name]);
    (!text.is_nil()).then(|| text.text().parse().unwrap())
}

/// What a call did to the number: `Ok` if it said that it did.
type Does = (&'static str, i64, bool);

async fn call(slots: &CountingSemaphore, what: &str) -> Result<bool> {
    match what {
        "try" => slots.try_acquire_many(2).await,
        "acquire" => slots.acquire_within(2, Wait::For(Duration::from_millis(300))).await.map(|()| true),
        "release" => slots.release_many(2).await.map(|()| true),
        "take away" => slots.add_permits(-2).await.map(|()| true),
        _ => slots.drain().await.map(|_| true),
    }
}

/// Also when a waiter stands in front, and has to be told or jumped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_lacks_a_right_changes_nothing() {
    const CALLS: [Does; 5] =
        [("try", -2, true), ("acquire", -2, false), ("release", 2, true), ("take away", -2, true), ("drain", -3, true)];
    let server = server();
    let place = Client::connect(&server.url()).await.unwrap();
    let mut expected = Vec::new();
    for command in commands() {
        let (client, _) = without(&server, command, "response_timeout=300ms").await;
        for (what, by, past_waiters) in CALLS {
            for waiter in [false, true] {
                let name = format!("{command} {what} {waiter}");
                server.cmd(&["SET", &name, "3"]);
                let others = place.counting_semaphore(&name).unwrap();
                let waiter = waiter.then(|| waits(&others, 9));
                if waiter.is_some() {
                    queued(&others, 1).await;
                }
                let done = match call(&client.counting_semaphore(&name).unwrap(), what).await {
                    Ok(done) => done,
                    Err(error) if error.kind() == ErrorKind::Busy => false,
                    Err(error) => {
                        assert!(
                            matches!(error.kind(), ErrorKind::NoPermission | ErrorKind::Connection),
                            "{name}: {error}"
                        );
                        false
                    }
                };
                assert!(past_waiters || waiter.is_none() || !done, "{name}");
                waiter.into_iter().for_each(|waiter| waiter.abort());
                expected.push((name, 3 + if done { by } else { 0 }));
            }
        }
    }
    // Longer than an undo may take, and the one that follows it.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let wrong = expected.iter().filter(|(name, expected)| number(&server, name) != Some(*expected));
    let wrong: Vec<_> =
        wrong.map(|(name, expected)| format!("{name}: {:?} for {expected}", number(&server, name))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_lacks_a_right_makes_a_semaphore_or_hears_no() {
    let server = server();
    for command in commands() {
        let (client, _) = without(&server, command, "").await;
        let made = client.counting_semaphore(command).unwrap().try_set_permits(3).await;
        let expected = made.as_ref().is_ok_and(|made| *made).then_some(3);
        assert_eq!(number(&server, command), expected, "{command}: {made:?}");
    }
}

/// The grant meets a caller that has gone, whose user has lost a right meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_given_back_for_want_of_a_right_is_said() {
    let server = server();
    let others = Client::connect(&server.url()).await.unwrap();
    let mut left = Vec::new();
    for command in commands() {
        let user = format!("no-{command}");
        server.cmd(&["ACL", "SETUSER", &user, &format!("+{command}")]);
        let (client, told) = without(&server, command, "").await;
        let slots = client.counting_semaphore(command).unwrap();
        let others = others.counting_semaphore(command).unwrap();
        let acquiring = granted_unpolled(&slots, &others).await;
        server.cmd(&["ACL", "SETUSER", &user, &format!("-{command}")]);
        drop(acquiring);
        left.push((command, client, told));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (command, client, told) in left {
        let (back, told) = (number(&server, command) == Some(1), told.lock().unwrap().clone());
        let said = told.iter().any(|message| message.contains("may be missing"));
        assert!(back || said, "{command}: neither back nor said: {told:?}");
        // Without any of the others an acquire can be granted, and so it can be undone.
        assert!(
            back || ["get", "exists", "zscore", "zrem", "decrby"].contains(&command),
            "{command}: not given back: {told:?}"
        );
        drop(client);
    }
}
