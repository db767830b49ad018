//! Noticing the end of a thread, by what each system has for that: on Unix after all that the thread itself still does.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{at_thread_end, no_thread_ends};
#[cfg(windows)]
pub use windows::{at_thread_end, no_thread_ends};

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    /// What has run at the end of threads.
    pub(super) static ORDER: Mutex<Vec<&str>> = Mutex::new(Vec::new());

    /// A thread-local value with a destructor.
    pub(super) struct Local;

    impl Drop for Local {
        fn drop(&mut self) {
            ORDER.lock().unwrap().push("thread-local");
        }
    }

    /// The end of each system's test, not a test of its own: that would run at the same time, on the same key or slot.
    pub(super) fn the_hook_stays_away_and_comes_anew() {
        let before = ORDER.lock().unwrap().len();
        let ended = thread::spawn(|| {
            at_thread_end(|| ORDER.lock().unwrap().push("after the end"), false).unwrap();
            no_thread_ends();
        });
        ended.join().unwrap();
        let anew = thread::spawn(|| at_thread_end(|| ORDER.lock().unwrap().push("anew"), false).unwrap());
        anew.join().unwrap();
        assert_eq!(ORDER.lock().unwrap()[before..], ["anew"]);
    }
}
