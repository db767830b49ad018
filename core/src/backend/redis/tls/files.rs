//! Certificates and keys, read from the files of the options. No error shows what is in a file.

use std::fs::File;
use std::io::Read;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::invalid;
use crate::error::{Error, Result};

/// The longest file that is read, in bytes. The authorities of a system take 200 KB.
const LONGEST: u64 = 16 << 20;

/// A file that an option names.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) option: &'static str,
    pub(super) path: &'a str,
}

impl Named<'_> {
    /// An error about the file: `what` is wrong with it.
    pub(super) fn refuse(self, what: &str) -> Error {
        invalid(format!("option {}: {:?} {what}", self.option, self.path))
    }

    fn read(self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = File::open(self.path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
        match read {
            Err(error) => Err(self.refuse(&format!("cannot be read: {}", error.kind()))),
            Ok(0) => Err(self.refuse("is empty")),
            Ok(_) if bytes.len() as u64 > LONGEST => Err(self.refuse("is longer than 16 MiB")),
            Ok(_) => Ok(bytes),
        }
    }

    /// The certificates in it, in their order; one at least.
    pub(super) fn certificates(self) -> Result<Vec<CertificateDer<'static>>> {
        let bytes = self.read()?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        match found {
            Ok(found) if found.is_empty() => {
                Err(self.refuse("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"))
            }
            Ok(found) => Ok(found),
            Err(_) => Err(self.refuse("is no whole PEM file")),
        }
    }

    /// As authorities that may sign.
    pub(super) fn roots(self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots.add(certificate).map_err(|_| self.refuse("holds a certificate that cannot be read"))?;
        }
        Ok(roots)
    }

    /// The first private key in it.
    pub(super) fn key(self) -> Result<PrivateKeyDer<'static>> {
        let bytes = self.read()?;
        PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
            let encrypted = bytes.windows(ENCRYPTED.len()).any(|part| part == ENCRYPTED);
            self.refuse(match encrypted {
                true => {
                    "holds a key with a passphrase, which nobody can be asked for; write it without one (openssl pkey -in OLD \
                     -out NEW)"
                }
                false => "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)",
            })
        })
    }
}

/// Stands in the first lines of a key with a passphrase.
const ENCRYPTED: &[u8] = b"ENCRYPTED";

/// The authorities of this system, where OpenSSL looks for them: also where SSL_CERT_FILE and SSL_CERT_DIR say.
pub(super) fn system_roots() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    // Old systems have a few that cannot be read; the others serve.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(invalid(
            "this system has no certificates of authorities (Debian's package ca-certificates brings them); set tls_ca_file to \
             that of your server's",
        ));
    }
    Ok(roots)
}
