//! Each wrong combination of certificates, servers and options has an error of its own, which says what to do.
#![cfg(feature = "tls")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libdlock::{Client, Config, Error, ErrorKind};
use libdlock_testkit::certificates::Unusual;
use libdlock_testkit::temp::TempDir;
use libdlock_testkit::{Authority, Server};

/// The options that name files and words.
type Options<'a> = &'a [(&'a str, &'a str)];

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What connecting says. No error shows the password, nor a word of the TLS library.
async fn refused(url: &str, options: Options<'_>) -> Error {
    let mut config = Config::from_url(&url.replace("://", "://:s3cret@")).unwrap();
    for (option, value) in options {
        config.set(option, value).unwrap();
    }
    let error = Client::connect_with(config).await.map(drop).expect_err(url);
    let shown = error.to_string();
    for foreign in ["s3cret", "rustls", "webpki", "InvalidCertificate", "AlertReceived", "Err(", "DnsName"] {
        assert!(!shown.contains(foreign), "{shown}");
    }
    error
}

/// A connection error that names the server, says that, and whether a retry can help.
#[track_caller]
fn expect(error: &Error, says: &[&str], retryable: bool) {
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    for said in says {
        assert!(error.message().contains(said), "{said:?} is not in: {error}");
    }
    assert_eq!(error.is_retryable(), retryable, "{error}");
}

/// A server with a certificate that its authority has issued.
fn server_with(how: Unusual) -> (Server, Authority) {
    let authority = Authority::new("ours");
    let server = Server::options().tls(&authority.issue_unusual("server", how), &authority, "no").start();
    (server, authority)
}

#[tokio::test]
async fn an_authority_that_did_not_sign_is_named_with_its_option() {
    let (server, _authority) = server_with(Unusual::default());
    for other in [Authority::new("other"), Authority::new("ours")] {
        let file = other.file();
        let file = text(&file);
        let error = refused(&server.tls_url(), &[("tls_ca_file", file)]).await;
        let address = server.tls_address().to_string();
        expect(&error, &[&address, "no authority in", file, "tls_ca_file"], true);
    }
    let error = refused(&server.tls_url(), &[]).await;
    expect(&error, &["no authority known to this system", "set tls_ca_file"], false);
}

#[tokio::test]
async fn a_certificate_out_of_its_time_says_by_how_much() {
    let (server, authority) =
        server_with(Unusual { valid: Some(("20200101000000Z", "20200201000000Z")), ..Unusual::default() });
    let file = authority.file();
    let error = refused(&server.tls_url(), &[("tls_ca_file", text(&file))]).await;
    expect(&error, &["expired", " days ago", "renew it"], true);
    let (server, authority) =
        server_with(Unusual { valid: Some(("20900101000000Z", "20910101000000Z")), ..Unusual::default() });
    let file = authority.file();
    let error = refused(&server.tls_url(), &[("tls_ca_file", text(&file))]).await;
    expect(&error, &["valid only in ", " days", "check the clocks"], true);
}

#[tokio::test]
async fn a_certificate_for_another_name_says_for_which() {
    let (server, authority) =
        server_with(Unusual { names: Some("DNS:db.example,DNS:*.db.example,IP:10.0.0.1"), ..Unusual::default() });
    let file = authority.file();
    let options = [("tls_ca_file", text(&file)), ("tls_server_name", "cache.example")];
    let error = refused(&server.tls_url(), &options[..1]).await;
    expect(&error, &["for db.example, *.db.example, 10.0.0.1, and not for 127.0.0.1", "set tls_server_name"], false);
    let error = refused(&server.tls_url(), &options).await;
    expect(&error, &["and not for cache.example"], false);
}

#[tokio::test]
async fn a_certificate_that_is_not_for_servers_says_so() {
    let (server, authority) = server_with(Unusual { usage: Some("clientAuth"), ..Unusual::default() });
    let file = authority.file();
    let error = refused(&server.tls_url(), &[("tls_ca_file", text(&file))]).await;
    expect(&error, &["not for servers (extendedKeyUsage)"], false);
}

/// One certificate for everything, as a first attempt with openssl makes it.
#[tokio::test]
async fn an_authority_that_serves_itself_is_explained() {
    let authority = Authority::new("ours");
    let server = Server::options().tls(&authority.own(), &authority, "no").start();
    let error = refused(&server.tls_url(), &[("tls_ca_file", text(&authority.file()))]).await;
    expect(&error, &["cannot be verified", "subjectAltName", "not that of an authority"], false);
}

#[tokio::test]
async fn a_server_without_tls_is_found_out_before_the_time_out() {
    for server in [Server::start(), Server::options().password("right").start()] {
        let authority = Authority::new("ours");
        let (ca, started) = (authority.file(), Instant::now());
        let url = server.url().replace("redis://", "rediss://");
        let error = refused(&url, &[("tls_ca_file", text(&ca)), ("connect_timeout", "60s")]).await;
        expect(&error, &[&server.address().to_string(), "does not speak TLS", "redis://"], false);
        assert!(started.elapsed() < Duration::from_secs(30), "half of the time-out: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_server_with_tls_says_so_to_a_client_without() {
    let (server, _authority) = server_with(Unusual::default());
    for _ in 0..20 {
        let error = refused(&server.tls_url().replace("rediss://", "redis://"), &[]).await;
        expect(&error, &["answered in TLS", "rediss://"], false);
    }
}

#[tokio::test]
async fn a_client_certificate_that_is_missing_is_asked_for() {
    let authority = Authority::new("ours");
    let (shows, file) = (authority.issue("server"), authority.file());
    let server = Server::options().tls(&shows, &authority, "yes").start();
    for _ in 0..20 {
        let error = refused(&server.tls_url(), &[("tls_ca_file", text(&file))]).await;
        expect(&error, &["wants a client certificate", "tls_cert_file and tls_key_file"], false);
    }
    let server = Server::options().tls(&shows, &authority, "yes").args(&["--tls-protocols", "TLSv1.2"]).start();
    for _ in 0..20 {
        let error = refused(&server.tls_url(), &[("tls_ca_file", text(&file))]).await;
        expect(&error, &["may want a client certificate", "tls_cert_file and tls_key_file"], false);
    }
}

#[tokio::test]
async fn a_refused_client_certificate_is_named_with_the_reason() {
    let authority = Authority::new("ours");
    let file = authority.file();
    let other = Authority::new("other");
    let stranger = other.issue("client");
    let old = Unusual { valid: Some(("20200101000000Z", "20200201000000Z")), ..Unusual::default() };
    let expired = authority.issue_unusual("old", old);
    for protocol in ["TLSv1.2", "TLSv1.3"] {
        let server = Server::options()
            .tls(&authority.issue("server"), &authority, "yes")
            .args(&["--tls-protocols", protocol])
            .start();
        for (client, why) in [(&stranger, "does not know who signed it"), (&expired, "has expired")] {
            let (cert, key) = (text(&client.cert), text(&client.key));
            let options = [("tls_ca_file", text(&file)), ("tls_cert_file", cert), ("tls_key_file", key)];
            for _ in 0..10 {
                let error = refused(&server.tls_url(), &options).await;
                expect(&error, &["refused the client certificate in", cert, why], true);
            }
        }
    }
}

#[tokio::test]
async fn versions_of_tls_that_are_too_old_are_called_that() {
    let authority = Authority::new("ours");
    let old = ["--tls-protocols", "TLSv1.1", "--tls-ciphers", "DEFAULT@SECLEVEL=0"];
    let server = Server::options().tls(&authority.issue("server"), &authority, "no").args(&old).start();
    let error = refused(&server.tls_url(), &[("tls_ca_file", text(&authority.file()))]).await;
    expect(&error, &["no version of TLS (1.2 or 1.3)"], false);
}

/// Each of these is the caller's to mend, and is told before anything is sent.
#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_with_its_option() {
    let (server, authority) = server_with(Unusual::default());
    let folder = TempDir::new();
    let write = |name: &str, content: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let (ca, client, other) = (authority.file(), authority.issue("client"), authority.issue("other"));
    let read = |path: &Path| std::fs::read(path).unwrap();
    let whole = read(&ca);
    let empty = write("empty.pem", b"");
    let no_pem = write("no.pem", b"s3cret and no certificate\n");
    let cut = write("cut.pem", &whole[..whole.len() - 40]);
    let garbled = write("garbled.pem", b"-----BEGIN CERTIFICATE-----\nczNjcmV0\n-----END CERTIFICATE-----\n");
    let locked =
        write("locked.key", b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nczNjcmV0\n-----END ENCRYPTED PRIVATE KEY-----\n");
    let odd = write("odd.key", b"-----BEGIN PRIVATE KEY-----\nczNjcmV0\n-----END PRIVATE KEY-----\n");
    let missing = folder.path().join("missing.pem");
    let before = server.info("stats", "total_connections_received");
    let ca = text(&ca);
    let (cert, key) = (text(&client.cert), text(&client.key));
    for (option, file, says) in [
        ("tls_ca_file", &missing, "cannot be read: entity not found"),
        ("tls_ca_file", &folder.path().to_owned(), "cannot be read: is a directory"),
        ("tls_ca_file", &empty, "is empty"),
        ("tls_ca_file", &no_pem, "no certificate in PEM form"),
        ("tls_ca_file", &client.key, "no certificate in PEM form"),
        ("tls_ca_file", &cut, "no whole PEM file"),
        ("tls_ca_file", &garbled, "a certificate that cannot be read"),
        ("tls_cert_file", &missing, "cannot be read"),
        ("tls_cert_file", &empty, "is empty"),
        ("tls_cert_file", &no_pem, "no certificate in PEM form"),
        ("tls_cert_file", &garbled, "a certificate that cannot be read"),
        ("tls_key_file", &missing, "cannot be read"),
        ("tls_key_file", &empty, "is empty"),
        ("tls_key_file", &client.cert, "no private key in PEM form"),
        ("tls_key_file", &locked, "a passphrase"),
        ("tls_key_file", &odd, "of a kind that libdlock cannot use"),
        ("tls_key_file", &other.key, "is not the key of the certificate"),
    ] {
        let mut options = vec![("tls_ca_file", ca), ("tls_cert_file", cert), ("tls_key_file", key)];
        options.iter_mut().filter(|(name, _)| *name == option).for_each(|(_, value)| *value = text(file));
        let error = refused(&server.tls_url(), &options).await;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let begins = format!("option {option}: \"{}\" ", text(file));
        assert!(error.message().starts_with(&begins) && error.message().contains(says), "{says:?}: {error}");
    }
    let error = refused(&server.tls_url(), &[("tls_ca_file", ca), ("tls_server_name", "two words")]).await;
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.message().contains("option tls_server_name: \"two words\""), "{error}");
    assert_eq!(server.info("stats", "total_connections_received"), before, "nothing was sent");
}

#[tokio::test]
async fn options_of_tls_are_refused_where_there_is_none() {
    let server = Server::options().unix_socket().start();
    let socket = format!("redis+unix://{}", server.socket().display());
    for (url, says) in [(server.url(), "write rediss://"), (socket, "a Unix socket has no TLS")] {
        let mut config = Config::from_url(&url).unwrap();
        config.set("tls_ca_file", "/ca.pem").unwrap();
        let error = Client::connect_with(config).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("option tls_ca_file: ") && error.message().contains(says), "{error}");
    }
}
