//! What the errors of rustls mean to whoever runs the client or the server.

use std::io;
use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::fault::{Fault, Lasts};
use super::settings::Settings;
use crate::text;

/// Whether the error is one of TLS, and not of the socket below.
pub(super) fn is_of_tls(error: &io::Error) -> bool {
    theirs(error).is_some()
}

fn theirs(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// The server answers without TLS.
pub(super) fn no_tls() -> Fault {
    Fault::new(
        Lasts::ForGood,
        "does not speak TLS; use the port of the server that does (tls-port), or redis:// for a connection without TLS",
    )
}

/// A host as no certificate can name it.
pub(super) fn no_name() -> Fault {
    Fault::new(
        Lasts::ForGood,
        "has a name that no certificate can be for; set tls_server_name to the one that its certificate is for",
    )
}

impl Settings {
    /// An error of a session, as a [`Fault`] if it is one of TLS.
    pub(super) fn judge(&self, error: io::Error) -> io::Error {
        match theirs(&error) {
            Some(theirs) => self.fault(theirs).into(),
            None => error,
        }
    }

    /// The same for one of the handshake.
    pub(super) fn handshake_failed(&self, error: io::Error) -> io::Error {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match error.kind() {
            UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe if !is_of_tls(&error) => {
                Fault::new(Lasts::Briefly, "closed the connection during the TLS handshake; does it speak TLS there?")
                    .into()
            }
            _ => self.judge(error),
        }
    }

    fn fault(&self, error: &Error) -> Fault {
        match error {
            Error::InvalidCertificate(error) => self.certificate(error),
            Error::AlertReceived(alert) => self.alert(*alert),
            // The first bytes are no TLS.
            Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
                no_tls()
            }
            Error::PeerIncompatible(_) => no_common_version(),
            _ => Fault::new(
                Lasts::ForAWhile,
                "sent bytes that are no TLS as it should be; the connection was dropped. Check what stands between",
            ),
        }
    }

    /// The server's certificate does not pass.
    fn certificate(&self, error: &CertificateError) -> Fault {
        let for_good = |how: String| Fault::new(Lasts::ForGood, how);
        match error {
            // Authorities of one name have different keys, too.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => match &self.ca_file {
                Some(file) => Fault::new(
                    Lasts::ForAWhile,
                    format!(
                        "has a certificate that no authority in {file:?} (tls_ca_file) has signed; put that of its authority \
                         there"
                    ),
                ),
                None => for_good(
                    "has a certificate that no authority known to this system has signed; set tls_ca_file to that of its \
                     authority"
                        .to_owned(),
                ),
            },
            CertificateError::ExpiredContext { time, not_after } => Fault::new(
                Lasts::ForAWhile,
                format!(
                    "has a certificate that expired {} ago by this machine's clock; renew it on the server",
                    length(*time, *not_after)
                ),
            ),
            CertificateError::NotValidYetContext { time, not_before } => Fault::new(
                Lasts::ForAWhile,
                format!(
                    "has a certificate that is valid only in {} by this machine's clock; check the clocks of both machines",
                    length(*not_before, *time)
                ),
            ),
            CertificateError::NotValidForNameContext { expected, presented } => for_good(format!(
                "has a certificate for {}, and not for {}; connect by a name that it is for, or set tls_server_name to one",
                names(presented),
                text::part(&expected.to_str())
            )),
            CertificateError::InvalidPurposeContext { .. } => {
                for_good("has a certificate that is not for servers (extendedKeyUsage)".to_owned())
            }
            CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => for_good(
                "has a certificate with a signature that is not accepted, such as SHA-1 or RSA below 2048 bits".to_owned(),
            ),
            _ => for_good(
                "has a certificate that cannot be verified; it has to be one of X.509 version 3 with the server's name in \
                 subjectAltName, and not that of an authority"
                    .to_owned(),
            ),
        }
    }

    /// The server has ended the session.
    fn alert(&self, alert: AlertDescription) -> Fault {
        use AlertDescription as Alert;
        let about_certificate = match alert {
            Alert::UnknownCA => Some("it does not know who signed it"),
            Alert::CertificateExpired => Some("it has expired, or is not valid yet"),
            Alert::CertificateRevoked => Some("it was revoked"),
            Alert::AccessDenied => Some("it gives no access"),
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateUnknown
            | Alert::DecryptError
            | Alert::DecodeError => Some("it cannot be verified there"),
            _ => None,
        };
        match (alert, &self.cert_file, about_certificate) {
            (_, Some(file), Some(why)) => Fault::new(
                Lasts::ForAWhile,
                format!(
                    "refused the client certificate in {file:?} (tls_cert_file): {why}; check the server's CA file"
                ),
            ),
            (Alert::CertificateRequired, _, _) => Fault::new(
                Lasts::ForGood,
                "wants a client certificate; set tls_cert_file and tls_key_file, or tls-auth-clients on the server",
            ),
            // What TLS 1.2 says there; it says the same without a cipher in common.
            (Alert::HandshakeFailure, None, _) => Fault::new(
                Lasts::ForGood,
                "refused the TLS handshake; it may want a client certificate (tls_cert_file and tls_key_file)",
            ),
            (Alert::ProtocolVersion | Alert::InsufficientSecurity | Alert::HandshakeFailure, _, _) => {
                no_common_version()
            }
            (Alert::UnrecognisedName, _, _) => Fault::new(
                Lasts::ForGood,
                "has no certificate for the name that was asked for; set tls_server_name to one that it has",
            ),
            _ => Fault::new(
                Lasts::ForAWhile,
                format!("ended the TLS session (alert {}); its log may say why", u8::from(alert)),
            ),
        }
    }
}

fn no_common_version() -> Fault {
    Fault::new(Lasts::ForGood, "has no version of TLS (1.2 or 1.3) or no cipher in common with libdlock")
}

/// From the earlier time to the later one, in the largest unit that it has two of.
fn length(later: UnixTime, earlier: UnixTime) -> String {
    let seconds = Duration::from_secs(later.as_secs().saturating_sub(earlier.as_secs())).as_secs();
    let units = [("days", 86_400), ("hours", 3_600), ("minutes", 60)];
    let unit = units.into_iter().find(|(_, size)| seconds >= 2 * size);
    unit.map_or(format!("{seconds} s"), |(unit, size)| format!("{} {unit}", seconds / size))
}

/// What a certificate is for: names as `DnsName("db.example")`, and addresses as `IpAddress(10.0.0.1)`.
fn names(presented: &[String]) -> String {
    let inside = |name: &String| {
        let inside = name.split_once('(').and_then(|(_, inside)| inside.strip_suffix(')')).unwrap_or(name);
        text::part(inside.trim_matches('"'))
    };
    const SHOWN: usize = 5;
    let mut shown: Vec<String> = presented.iter().take(SHOWN).map(inside).collect();
    if presented.len() > SHOWN {
        shown.push(format!("{} others", presented.len() - SHOWN));
    }
    if shown.is_empty() { "no name (subjectAltName)".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_told_in_its_largest_unit() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        for (seconds, said) in [(1, "1 s"), (119, "119 s"), (120, "2 minutes"), (7_300, "2 hours"), (200_000, "2 days")]
        {
            assert_eq!(length(at(10 + seconds), at(10)), said);
        }
    }

    #[test]
    fn names_of_a_certificate_are_few_and_escaped() {
        let names_of = |names: &[&str]| super::names(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(names_of(&[]), "no name (subjectAltName)");
        assert_eq!(names_of(&["DnsName(\"db.example\")", "IpAddress(10.0.0.1)"]), "db.example, 10.0.0.1");
        assert_eq!(names_of(&["DnsName(\"a\u{1b}[31m\")"]), "a\\u{1b}[31m");
        assert!(names_of(&["DnsName(\"x\")"; 40]).ends_with("x, 35 others"));
    }
}
