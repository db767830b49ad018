//! A password that is changed while a client runs.

use std::time::Duration;

use libdlock::{Client, Config};
use libdlock_testkit::{Server, eventually, temp::TempDir};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_password_in_the_file_counts_at_the_next_connection() {
    let server = Server::options().password("old-secret").start();
    let folder = TempDir::new();
    let file = folder.path().join("password");
    std::fs::write(&file, "old-secret\n").unwrap();
    let mut config = Config::from_url(&server.url()).unwrap();
    config.set("password_file", file.to_str().unwrap()).unwrap();
    let client = Client::connect_with(config).await.unwrap();
    let lock = client.lock("job").unwrap();
    lock.acquire().await.unwrap().release().await.unwrap();

    server.cmd(&["CONFIG", "SET", "requirepass", "new-secret"]);
    std::fs::write(&file, "new-secret\n").unwrap();
    server.cmd(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    lock.acquire().await.unwrap().release().await.unwrap();
    let mut config = Config::from_url(&server.url()).unwrap();
    std::fs::write(&file, "old-secret\n").unwrap();
    config.set("password_file", file.to_str().unwrap()).unwrap();
    let error = Client::connect_with(config).await.unwrap_err();
    assert!(error.is_retryable(), "the file may hold another password by then: {error}");
    std::fs::write(&file, "new-secret\n").unwrap();

    // The direct connections too, which are opened in the background.
    let clients = || server.cmd(&["CLIENT", "LIST"]).text().matches("name=libdlock").count();
    eventually(Duration::from_secs(10), "a direct connection is there", || {
        let pair = async { lock.acquire().await?.release().await };
        tokio::task::block_in_place(|| client.block_on(pair)).unwrap();
        clients() >= 3
    });
}
