//! The task that moves one connection's bytes.
//!
//! A request wakes it, and the runtime runs what was woken last first: so it would write every request by itself, at the price
//! of a system call here and of another read there. It therefore lets everybody who is ready go first, each time it is woken:
//! what they ask for then leaves in one write, and what is answered meanwhile is taken in one read. Nobody waits for longer
//! than the runtime is busy with others.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::AbortHandle;

/// Keeps the task going; the last clone ends it, and with it the connection.
#[derive(Clone)]
pub(super) struct Driver(#[expect(dead_code, reason = "held, to be dropped")] Arc<Running>);

struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Driver {
    /// Runs `work`, which drives a connection, on the runtime of the caller.
    pub(super) fn start(work: impl Future<Output = ()> + Send + 'static) -> Driver {
        let task = tokio::spawn(async move { LastInTurn { work: pin!(work), waited: false }.await });
        Driver(Arc::new(Running(task.abort_handle())))
    }
}

/// A future that is polled only when all that were ready when it was woken have been.
struct LastInTurn<'a, F> {
    work: Pin<&'a mut F>,
    waited: bool,
}

impl<F: Future<Output = ()>> Future for LastInTurn<'_, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.waited = !self.waited;
        if self.waited {
            // A task that wakes itself goes to the end of the queue.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.work.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::Notify;

    use super::*;

    /// On a runtime that runs what was woken last first, as `current_thread` does not.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn it_comes_after_all_that_are_ready() {
        let (seen, bell) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (end, ended) = tokio::sync::oneshot::channel();
        let (its_seen, its_bell) = (seen.clone(), bell.clone());
        let _driver = Driver::start(async move {
            begin.send(()).unwrap();
            its_bell.notified().await;
            its_seen.lock().unwrap().push("driver");
            end.send(()).unwrap();
        });
        begun.await.unwrap();
        let its_seen = seen.clone();
        // On the worker, so that both are ready before it turns to either.
        let asking = tokio::spawn(async move {
            for who in ["first", "second"] {
                let (seen, bell) = (its_seen.clone(), bell.clone());
                tokio::spawn(async move {
                    seen.lock().unwrap().push(who);
                    bell.notify_one();
                });
            }
        });
        asking.await.unwrap();
        ended.await.unwrap();
        let mut seen = seen.lock().unwrap();
        assert_eq!(seen.pop(), Some("driver"), "before {seen:?}");
        seen.sort_unstable();
        assert_eq!(*seen, ["first", "second"]);
    }

    #[tokio::test]
    async fn it_ends_with_its_last_clone() {
        let (end, mut ended) = tokio::sync::mpsc::channel::<()>(1);
        let driver = Driver::start(async move {
            std::future::pending::<()>().await;
            drop(end);
        });
        let other = driver.clone();
        drop(driver);
        tokio::task::yield_now().await;
        assert!(ended.try_recv().is_err_and(|error| error == tokio::sync::mpsc::error::TryRecvError::Empty));
        drop(other);
        assert_eq!(ended.recv().await, None);
    }
}
