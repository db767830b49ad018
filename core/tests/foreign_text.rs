//! Text from others never reaches an error or an event as it is: no line end, no escape sequence, no change of direction.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use libdlock::{Client, Config, ErrorKind};
use libdlock_testkit::{Server, scripted::Scripted};

const EVIL: &str = "evil\r\n2026-01-01 ERROR forged \u{1b}[31m\u{202e}txt\u{0}";

#[track_caller]
fn expect_one_plain_line(text: &str) {
    let plain = |c: char| !c.is_control() && !('\u{2028}'..='\u{202e}').contains(&c);
    assert!(text.chars().all(plain), "{text:?}");
    assert!(text.chars().count() < 2_100, "{} characters", text.chars().count());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_owner_is_escaped_in_errors_and_whole_in_data() {
    let server = Server::start();
    server.cmd(&["HSET", "job", EVIL, "1"]);
    let client = Client::connect(&server.url()).await.unwrap();
    let lock = client.lock("job").unwrap();
    let error = lock.acquire_timeout(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.message().contains(r"evil\r\n2026-01-01 ERROR forged \u{1b}[31m\u{202e}txt\u{0}"), "{error}");
    expect_one_plain_line(&error.to_string());
    expect_one_plain_line(&format!("{error:?}"));
    assert_eq!((error.holder(), error.remaining()), (Some(EVIL), None), "as it is, and without a lease");
    assert_eq!(lock.inspect().await.unwrap().holder.as_deref(), Some(EVIL));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_foreign_owner_leaves_the_error_readable() {
    let server = Server::start();
    server.cmd(&["HSET", "job", &"\u{1b}".repeat(5_000), "1"]);
    let client = Client::connect(&server.url()).await.unwrap();
    let error = client.lock("job").unwrap().acquire_timeout(Duration::from_millis(50)).await.unwrap_err();
    assert!(
        error.message().len() < 300 && error.message().contains("unless renewed") | error.message().contains("lease")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_escaped_in_errors_and_whole_in_data() {
    let server = Server::start();
    let name = EVIL.replace('\0', "");
    let events = Arc::new(Mutex::new(Vec::new()));
    let mut config = Config::from_url(&server.url()).unwrap();
    let its_events = events.clone();
    config.on_event(Arc::new(move |event| its_events.lock().unwrap().push(event.clone())));
    let client = Client::connect_with(config).await.unwrap();
    server.cmd(&["SET", &name, "no lock"]);
    let error = client.lock(&name).unwrap().try_acquire().await.unwrap_err();
    assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some(name.as_str())));
    expect_one_plain_line(&error.to_string());
    let error = client.lock(&format!("{{{name}")).map(drop).unwrap_err();
    expect_one_plain_line(&error.to_string());
    server.cmd(&["DEL", &name]);
    let held = client.lock(&name).unwrap().acquire().await.unwrap();
    drop((held, client));
    for event in events.lock().unwrap().iter() {
        expect_one_plain_line(&event.message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_servers_eviction_policy_leaves_the_warning_readable() {
    let server = Scripted::start(|words| {
        let info = format!("maxmemory_policy:{}", "\u{1b}evil".repeat(1_000));
        (words[0] == "INFO" && words[1] == "memory").then(|| format!("${}\r\n{info}\r\n", info.len()))
    });
    let (tell, told) = std::sync::mpsc::channel();
    let mut config = Config::from_url(&server.url()).unwrap();
    config.on_event(Arc::new(move |event| drop(tell.send(event.message.clone()))));
    let client = Client::connect_with(config).await.unwrap();
    let warning = told.try_iter().find(|event| event.contains("evict")).expect("the client warns");
    expect_one_plain_line(&warning);
    assert!(warning.len() < 400 && warning.contains("set maxmemory-policy noeviction"), "{warning}");
    drop(client);
}

#[test]
fn options_and_urls_are_escaped_in_errors() {
    let mut config = Config::from_url("memory://").unwrap();
    for (option, value) in [(EVIL, "1"), ("lease", EVIL), ("client_name", EVIL), ("password_file", EVIL), ("db", EVIL)]
    {
        expect_one_plain_line(&config.set(option, value).unwrap_err().to_string());
    }
    expect_one_plain_line(&config.set("lease", &"x".repeat(100_000)).unwrap_err().to_string());
    expect_one_plain_line(&Config::from_url(EVIL).map(drop).unwrap_err().to_string());
}
