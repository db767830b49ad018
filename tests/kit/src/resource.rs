//! What locks protect, as files that several processes share: a counter with no protection of its own, and a register
//! that refuses old fencing tokens.

use std::{
    fs::{self, OpenOptions},
    io::Read,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A number in a file. Adding reads, then writes: two processes that add at the same time lose an addition, unless
/// something else keeps them apart. That is its purpose.
#[derive(Clone, Debug)]
pub struct Counter(PathBuf);

impl Counter {
    /// A counter that starts at zero.
    pub fn create(path: &Path) -> Self {
        fs::write(path, "0").expect("write the counter");
        Self(path.into())
    }

    /// One that is there.
    pub fn open(path: &Path) -> Self {
        Self(path.into())
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        fs::read_to_string(&self.0).expect("read the counter").parse().expect("a number")
    }

    /// Adds one; `between` runs between the read and the write.
    pub fn add_one(&self, between: impl FnOnce()) {
        let value = self.get();
        between();
        // written beside and renamed: a reader never sees an empty file
        let beside = self.0.with_extension(format!("{}", std::process::id()));
        fs::write(&beside, (value + 1).to_string()).expect("write the counter");
        fs::rename(&beside, &self.0).expect("write the counter");
    }
}

/// A value that only the newest holder may change: it remembers the largest token it has seen and refuses lower ones.
#[derive(Clone, Debug)]
pub struct Register(PathBuf);

/// A write was refused: a larger token has been here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The largest token seen.
    pub highest: u64,
}

impl Register {
    /// An empty register (largest token 0).
    pub fn create(path: &Path) -> Self {
        fs::write(path, "0 \n").expect("write the register");
        Self(path.into())
    }

    /// One that is there.
    pub fn open(path: &Path) -> Self {
        Self(path.into())
    }

    /// Writes `value`, which is one line, unless a larger token has written before. Atomic between processes.
    pub fn write(&self, token: u64, value: &str) -> Result<(), Refused> {
        let file = OpenOptions::new().read(true).write(true).open(&self.0).expect("open the register");
        crate::sys::lock_exclusively(&file);
        let highest = read(&file).0;
        if token < highest {
            return Err(Refused { highest });
        }
        // one call, so that a writer that is killed has written all of it or nothing; what it leaves of a longer line stays
        // behind the line's end
        file.write_all_at(format!("{token} {value}\n").as_bytes(), 0).expect("write the register");
        Ok(())
    }

    /// The largest token and the value written with it.
    pub fn read(&self) -> (u64, String) {
        let file = fs::File::open(&self.0).expect("open the register");
        crate::sys::lock_exclusively(&file);
        read(&file)
    }

    /// The same; `None` when it could not be had within `bound`, because somebody stands still who was writing.
    pub fn read_within(&self, bound: Duration) -> Option<(u64, String)> {
        let file = fs::File::open(&self.0).expect("open the register");
        crate::within(bound, || crate::sys::try_lock_exclusively(&file)).then(|| read(&file))
    }
}

fn read(mut register: &fs::File) -> (u64, String) {
    let mut text = String::new();
    register.read_to_string(&mut text).expect("read the register");
    parse(&text)
}

fn parse(text: &str) -> (u64, String) {
    let line = text.lines().next().expect("a line");
    let (token, value) = line.split_once(' ').expect("token and value");
    (token.parse().expect("a token"), value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temp::TempDir;

    #[test]
    fn the_counter_loses_an_addition_that_nothing_protects() {
        let dir = TempDir::new();
        let counter = Counter::create(&dir.path().join("n"));
        counter.add_one(|| Counter::open(&dir.path().join("n")).add_one(|| ()));
        assert_eq!(counter.get(), 1, "two additions, one inside the other, must clash");
        counter.add_one(|| ());
        assert_eq!(counter.get(), 2);
    }

    #[test]
    fn the_register_refuses_a_token_lower_than_the_largest() {
        let dir = TempDir::new();
        let register = Register::create(&dir.path().join("r"));
        assert_eq!(register.write(5, "five"), Ok(()));
        assert_eq!(register.write(5, "five again"), Ok(()));
        assert_eq!(register.write(4, "four"), Err(Refused { highest: 5 }));
        assert_eq!(register.read(), (5, "five again".into()));
        assert_eq!(register.write(60, ""), Ok(()));
        assert_eq!(register.read(), (60, String::new()), "a shorter line hides what is left of a longer one");
    }

    #[test]
    fn a_locked_register_keeps_a_reader_waiting_for_its_bound() {
        let dir = TempDir::new();
        let register = Register::create(&dir.path().join("r"));
        let writing = fs::File::open(dir.path().join("r")).expect("open");
        crate::sys::lock_exclusively(&writing);
        assert_eq!(register.read_within(Duration::from_millis(20)), None);
        drop(writing);
        assert_eq!(register.read_within(Duration::from_millis(20)), Some((0, String::new())));
    }
}
