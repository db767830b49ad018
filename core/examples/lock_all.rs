//! Several locks as one: transfers between accounts, each of which needs two of them, in whatever order it names them.
//!
//! `cargo run --example lock_all`, or with a server: `cargo run --example lock_all -- redis://127.0.0.1:6379/0`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use libdlock::Client;

const TRANSFERS: u64 = 20;

/// Stands for the database that the locks protect: it refuses a token lower than the highest it has seen of an account.
#[derive(Default)]
struct Accounts(Mutex<HashMap<String, (i64, u64)>>);

impl Accounts {
    fn add(&self, account: &str, amount: i64, token: u64) {
        let mut accounts = self.0.lock().expect("no panic");
        let (balance, highest) = accounts.entry(account.to_owned()).or_default();
        assert!(*highest < token, "a stale token");
        (*balance, *highest) = (*balance + amount, token);
    }
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory://".to_owned());
    let client = Client::connect(&url).await?;
    let accounts = Arc::new(Accounts::default());
    let mut tasks = Vec::new();
    // A circle: each takes what the next one waits for.
    for (from, to) in [("account/1", "account/2"), ("account/2", "account/3"), ("account/3", "account/1")] {
        let (both, accounts) = (client.lock_all([from, to])?, accounts.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..TRANSFERS {
                let held = both.acquire().await?;
                for (account, token) in held.tokens() {
                    accounts.add(account, if account == from { -5 } else { 5 }, token);
                }
                held.release().await?;
            }
            Ok::<(), libdlock::Error>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let balances = accounts.0.lock().expect("no panic").clone();
    assert!(balances.values().all(|(balance, _)| *balance == 0), "money was made: {balances:?}");

    let all = client.lock_all(balances.keys())?;
    let held = all.acquire().await?;
    assert!(client.lock("account/2")?.try_acquire().await?.is_none(), "a lock of one of the names waits");
    println!("{} transfers, none blocked by another; {} accounts held", 3 * TRANSFERS, held.grants().len());
    held.release().await?;
    Ok(())
}
