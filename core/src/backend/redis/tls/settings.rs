//! How TLS is spoken: what the options say, and what their files hold now.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, InconsistentKeys};

use super::any_certificate::AnyCertificate;
use super::files::{Named, system_roots};
use crate::config::{Options, invalid};
use crate::error::Result;

/// For one connection: the next one reads the files anew. Clones share it.
#[derive(Clone)]
pub(in super::super) struct Tls(pub(super) Arc<Settings>);

pub(super) struct Settings {
    pub(super) config: Arc<ClientConfig>,
    /// In place of the host's name.
    pub(super) server_name: Option<ServerName<'static>>,
    /// For errors.
    pub(super) ca_file: Option<String>,
    pub(super) cert_file: Option<String>,
}

impl Tls {
    /// Reads the files. May block on the file system.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), naming the option and what is wrong with its file.
    pub(in super::super) fn load(options: &Options) -> Result<Tls> {
        // Given by hand: rustls would look for one that the program has chosen for the whole process, and panic without.
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3");
        let named = |option, path| Named { option, path };
        let builder = match &options.tls_ca_file {
            _ if options.tls_danger_accept_any_certificate => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            }
            Some(path) => builder.with_root_certificates(named("tls_ca_file", path).roots()?),
            None => builder.with_root_certificates(system_roots()?),
        };
        let mut config = match (&options.tls_cert_file, &options.tls_key_file) {
            (Some(cert), Some(key)) => {
                let (cert, key) = (named("tls_cert_file", cert), named("tls_key_file", key));
                let config = builder.with_client_auth_cert(cert.certificates()?, key.key()?);
                config.map_err(|error| match error {
                    rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                        key.refuse(&format!("is not the key of the certificate in {:?} (tls_cert_file)", cert.path))
                    }
                    rustls::Error::InvalidCertificate(_) => cert.refuse("holds a certificate that cannot be read"),
                    _ => key.refuse(
                        "holds a key of a kind that libdlock cannot use (it can use RSA from 2048 bits on, ECDSA on P-256 and \
                         P-384, Ed25519)",
                    ),
                })?
            }
            // `Config::check` has refused one without the other.
            _ => builder.with_no_client_auth(),
        };
        // There is one session for each configuration: nothing would ever be resumed.
        config.resumption = rustls::client::Resumption::disabled();
        let server_name = options.tls_server_name.as_deref().map(|name| {
            let what = || invalid(format!("option tls_server_name: {name:?} is neither a host name nor an IP address"));
            ServerName::try_from(name.to_owned()).map_err(|_| what())
        });
        Ok(Tls(Arc::new(Settings {
            config: Arc::new(config),
            server_name: server_name.transpose()?,
            ca_file: options.tls_ca_file.clone(),
            cert_file: options.tls_cert_file.clone(),
        })))
    }
}
