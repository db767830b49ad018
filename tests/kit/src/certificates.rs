//! Certificates of a test's own, by `scripts/certificates.sh`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use crate::temp::TempDir;

/// A certificate and its key, as files in PEM form. They are there as long as it is.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate, and those between it and its authority's.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    _folder: Arc<TempDir>,
}

impl Certificate {
    /// Puts this one in the place of another, as a rotation does: both files are there at any time.
    pub fn replace(&self, other: &Certificate) {
        replace(&self.cert, &other.cert);
        replace(&self.key, &other.key);
    }
}

/// Puts a copy of a file in the place of another in one step.
pub fn replace(new: &Path, old: &Path) {
    let beside = old.with_extension("new");
    fs::copy(new, &beside).expect("a copy");
    fs::rename(beside, old).expect("it takes the other's place");
}

/// What is unusual about a certificate that is issued.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unusual {
    /// Who it is for, such as `DNS:db.example`; otherwise `DNS:localhost,IP:127.0.0.1`.
    pub names: Option<&'static str>,
    /// From when to when it is valid, as `20200101000000Z`; otherwise from now on.
    pub valid: Option<(&'static str, &'static str)>,
    /// `serverAuth` or `clientAuth`; otherwise any.
    pub usage: Option<&'static str>,
}

/// Signs certificates. Its files are there as long as it is, or something that it has issued.
#[derive(Debug)]
pub struct Authority {
    folder: Arc<TempDir>,
    dir: PathBuf,
}

impl Authority {
    /// One that has signed itself. Others may have the same name, which is that of its certificate.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        let folder = Arc::new(TempDir::new());
        let dir = folder.path().join(name);
        run(Command::new(script()).arg("authority").arg(&dir));
        Self { folder, dir }
    }

    /// One that this one has signed.
    #[track_caller]
    pub fn below(&self, name: &str) -> Self {
        let dir = self.dir.join(name);
        run(Command::new(script()).arg("authority").args([&dir, &self.dir]));
        Self { folder: self.folder.clone(), dir }
    }

    /// Its own certificate: what a CA file holds.
    pub fn file(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// The same with its key, for one who shows it.
    pub fn own(&self) -> Certificate {
        Certificate { cert: self.file(), key: self.dir.join("ca.key"), _folder: self.folder.clone() }
    }

    /// A certificate for this machine.
    #[track_caller]
    pub fn issue(&self, name: &str) -> Certificate {
        self.issue_unusual(name, Unusual::default())
    }

    /// A certificate that is unusual in some way.
    #[track_caller]
    pub fn issue_unusual(&self, name: &str, how: Unusual) -> Certificate {
        let issued = self.dir.join(name);
        let mut command = Command::new(script());
        command.arg("issue").args([&self.dir, &issued]).arg(name);
        let (from, to) = how.valid.unzip();
        for (variable, value) in [("NAMES", how.names), ("FROM", from), ("TO", to), ("USAGE", how.usage)] {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        run(&mut command);
        let file = |kind: &str| issued.join(format!("{name}.{kind}"));
        Certificate { cert: file("pem"), key: file("key"), _folder: self.folder.clone() }
    }
}

fn script() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/certificates.sh")
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().expect("scripts/certificates.sh runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
