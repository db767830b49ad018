//! Reads the password for a connection from where it stands now.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::config::{Options, Secret};
use crate::error::{Error, ErrorKind, Result};

/// One read at a time: a file system can hang, and a thread with it. The caller's time-out ends only the wait for the read; the
/// next caller waits for the same read, so that repeated dialling leaves one thread behind and not hundreds. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Passwords(Arc<Mutex<Option<Read>>>);

type Read = JoinHandle<Result<Option<Secret>>>;

impl Passwords {
    /// The password. Cancel safe.
    pub(super) async fn read(&self, options: &Options) -> Result<Option<Secret>> {
        let its_options = options.clone();
        self.read_by(move || its_options.password()).await
    }

    async fn read_by(&self, read: impl FnOnce() -> Result<Option<Secret>> + Send + 'static) -> Result<Option<Secret>> {
        let mut under_way = self.0.lock().await;
        // What came when nobody waited for it any more may be old.
        let reading = match under_way.take().filter(|reading| !reading.is_finished()) {
            Some(reading) => under_way.insert(reading),
            None => under_way.insert(spawn_blocking(read)),
        };
        let password = reading.await;
        *under_way = None;
        password.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "connect", "the runtime was shut down")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_file_system_that_hangs_holds_one_thread() {
        let (passwords, started) = (Passwords::default(), Arc::new(AtomicUsize::new(0)));
        let (go_on, hung) = mpsc::channel::<()>();
        let hung = Arc::new(std::sync::Mutex::new(hung));
        let read = || {
            let (started, hung) = (started.clone(), hung.clone());
            passwords.read_by(move || {
                started.fetch_add(1, Ordering::SeqCst);
                hung.lock().unwrap().recv().expect("it is told to go on");
                Ok(Some(Secret("now".into())))
            })
        };
        for _ in 0..20 {
            tokio::time::timeout(Duration::from_millis(5), read()).await.expect_err("it hangs");
        }
        assert_eq!(started.load(Ordering::SeqCst), 1);
        let (password, told) = tokio::join!(read(), async { go_on.send(()) });
        told.unwrap();
        assert_eq!(password.unwrap(), Some(Secret("now".into())), "of the read under way");
        go_on.send(()).unwrap();
        assert!(read().await.is_ok());
        assert_eq!(started.load(Ordering::SeqCst), 2, "read anew for each connection");
    }
}
