//! Acquires without releases.

use libdlock::{Client, Held};

/// A caller that acquires another lock every time, and keeps it.
pub struct Acquires {
    client: Client,
    name: String,
    held: Vec<Held>,
}

impl Acquires {
    /// The names of its locks begin with this one.
    pub fn new(client: &Client, name: &str) -> Acquires {
        Acquires { client: client.clone(), name: name.to_owned(), held: Vec::new() }
    }

    /// Acquires the next.
    pub async fn one_more(&mut self) -> libdlock::Result<()> {
        let lock = self.client.lock(&format!("{}-{}", self.name, self.held.len()))?;
        self.held.push(lock.acquire().await?);
        Ok(())
    }
}
