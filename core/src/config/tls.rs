//! Which options of TLS go with which target, and with one another.

use super::{Options, Target, invalid};
use crate::error::Result;

/// Refuses what would have no effect, or another than was meant: a caller who sets an option of TLS relies on it.
pub(super) fn check(target: &Target, options: &Options) -> Result<()> {
    let any_certificate = options.tls_danger_accept_any_certificate;
    let given = [
        ("tls_ca_file", options.tls_ca_file.is_some()),
        ("tls_cert_file", options.tls_cert_file.is_some()),
        ("tls_key_file", options.tls_key_file.is_some()),
        ("tls_server_name", options.tls_server_name.is_some()),
        ("tls_danger_accept_any_certificate", any_certificate),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given)
        && !target.is_tls()
    {
        let why = match target {
            Target::Tcp { .. } => {
                "the URL asks for a connection without TLS; write rediss:// (or valkeys://) for one with it"
            }
            Target::Master { .. } => {
                "the URL asks for connections without TLS; write rediss+sentinel:// (or valkeys+sentinel://) for those with it"
            }
            Target::Cluster(_) => {
                "the URL asks for connections without TLS; write rediss+cluster:// (or valkeys+cluster://) for those with it"
            }
            Target::Quorum(_) => {
                "the URL asks for connections without TLS; write rediss+quorum:// (or valkeys+quorum://) for those with it"
            }
            Target::Unix(_) => "a Unix socket has no TLS; leave the option away",
            Target::Memory(_) => "memory:// has no connection; leave the option away",
        };
        return Err(invalid(format!("option {option}: {why}")));
    }
    match (&options.tls_cert_file, &options.tls_key_file) {
        (Some(_), None) => {
            Err(invalid("option tls_cert_file: a client certificate needs its private key; set tls_key_file"))
        }
        (None, Some(_)) => Err(invalid("option tls_key_file: a private key needs its certificate; set tls_cert_file")),
        _ if any_certificate && options.tls_ca_file.is_some() => Err(invalid(
            "option tls_danger_accept_any_certificate: nothing would be verified by tls_ca_file; give one of the two",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn refusal(url: &str) -> String {
        let error = Config::from_url(url).unwrap().check().expect_err(url);
        error.message().to_owned()
    }

    #[test]
    fn an_option_of_tls_without_tls_is_refused() {
        for option in [
            "tls_ca_file=/ca.pem",
            "tls_cert_file=/c.pem",
            "tls_key_file=/k.pem",
            "tls_server_name=db",
            "tls_danger_accept_any_certificate=true",
        ] {
            let name = option.split('=').next().unwrap();
            for (url, says) in [
                ("redis://h", "rediss://"),
                ("redis+sentinel://h/m", "rediss+sentinel://"),
                ("unix:///run/x", "Unix socket"),
                ("memory://", "memory://"),
            ] {
                let message = refusal(&format!("{url}?{option}"));
                assert!(message.starts_with(&format!("option {name}: ")) && message.contains(says), "{message}");
            }
        }
        Config::from_url("redis://h?tls_danger_accept_any_certificate=false").unwrap().check().unwrap();
    }

    #[cfg(feature = "tls")]
    #[test]
    fn options_of_tls_that_do_not_go_together_are_refused() {
        assert!(refusal("rediss://h?tls_cert_file=/c.pem").contains("set tls_key_file"));
        assert!(refusal("rediss://h?tls_key_file=/k.pem").contains("set tls_cert_file"));
        let both = refusal("rediss://h?tls_ca_file=/ca.pem&tls_danger_accept_any_certificate=true");
        assert!(both.contains("give one of the two"), "{both}");
        Config::from_url("valkeys://h?tls_ca_file=/a&tls_cert_file=/b&tls_key_file=/c").unwrap().check().unwrap();
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn without_the_feature_a_url_with_tls_is_unsupported() {
        for url in ["rediss://h", "valkeys://:s3cret@h", "rediss+sentinel://:s3cret@h/m"] {
            let error = Config::from_url(url).err().unwrap();
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{url}");
            assert!(error.message().contains("feature tls") && !error.message().contains("s3cret"), "{error}");
        }
    }
}
