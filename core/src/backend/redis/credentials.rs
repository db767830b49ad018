//! Reads what a connection needs to be let in, from where it stands now: the password, and the files of TLS.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use super::tls::Tls;
use crate::config::{Options, Password, Secret};
use crate::error::{Error, ErrorKind, Result};

/// For one connection.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) password: Option<Secret>,
    /// How TLS is spoken, if it is.
    pub(super) tls: Option<Tls>,
}

impl Credentials {
    /// May block on the file system.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`], naming the option, when a file cannot be used or a variable is not there.
    pub(super) fn read(wanted: &Wanted) -> Result<Credentials> {
        let Wanted { password, tls } = wanted;
        let tls = tls.as_deref().map(Tls::load).transpose()?;
        Ok(Credentials { password: password.as_ref().map(Password::read).transpose()?, tls })
    }
}

/// What is to be read for each connection.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) password: Option<Password>,
    /// The options of TLS, where it is spoken.
    pub(super) tls: Option<Arc<Options>>,
}

impl Wanted {
    /// With this password, and the files of TLS that the options name, if it is spoken.
    pub(super) fn new(password: Option<&Password>, options: &Options, tls: bool) -> Wanted {
        Wanted { password: password.cloned(), tls: tls.then(|| Arc::new(options.clone())) }
    }

    /// Whether nothing has to be looked up anywhere.
    fn is_at_hand(&self) -> bool {
        self.tls.is_none() && self.password.as_ref().is_none_or(|password| matches!(password, Password::Given(_)))
    }

    /// Whether the next connection may be let in with another password.
    pub(super) fn password_may_change(&self) -> bool {
        self.password.as_ref().is_some_and(Password::may_change)
    }
}

/// One read at a time: a file system can hang, and a thread with it. The caller's time-out ends only the wait for the read; the
/// next caller waits for the same read, so that repeated dialling leaves one thread behind and not hundreds. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Reader(Arc<Mutex<Option<Read>>>);

type Read = JoinHandle<Result<Credentials>>;

impl Reader {
    /// As [`Credentials::read`]. Cancel safe.
    pub(super) async fn read(&self, wanted: &Wanted) -> Result<Credentials> {
        if wanted.is_at_hand() {
            return Credentials::read(wanted);
        }
        let wanted = wanted.clone();
        self.read_by(move || Credentials::read(&wanted)).await
    }

    async fn read_by(&self, read: impl FnOnce() -> Result<Credentials> + Send + 'static) -> Result<Credentials> {
        let mut under_way = self.0.lock().await;
        // What came when nobody waited for it any more may be old.
        let reading = match under_way.take().filter(|reading| !reading.is_finished()) {
            Some(reading) => under_way.insert(reading),
            None => under_way.insert(spawn_blocking(read)),
        };
        let credentials = reading.await;
        *under_way = None;
        credentials.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "connect", "the runtime was shut down")))
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
        let (reader, started) = (Reader::default(), Arc::new(AtomicUsize::new(0)));
        let (go_on, hung) = mpsc::channel::<()>();
        let hung = Arc::new(std::sync::Mutex::new(hung));
        let read = || {
            let (started, hung) = (started.clone(), hung.clone());
            reader.read_by(move || {
                started.fetch_add(1, Ordering::SeqCst);
                hung.lock().unwrap().recv().expect("it is told to go on");
                Ok(Credentials { password: Some(Secret("now".into())), tls: None })
            })
        };
        for _ in 0..20 {
            tokio::time::timeout(Duration::from_millis(5), read()).await.map(drop).expect_err("it hangs");
        }
        assert_eq!(started.load(Ordering::SeqCst), 1);
        let (credentials, told) = tokio::join!(read(), async { go_on.send(()) });
        told.unwrap();
        assert_eq!(credentials.unwrap().password, Some(Secret("now".into())), "of the read under way");
        go_on.send(()).unwrap();
        assert!(read().await.is_ok());
        assert_eq!(started.load(Ordering::SeqCst), 2, "read anew for each connection");
    }
}
