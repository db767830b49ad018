//! Which spans a subscriber of `tracing` sees, and what they tell.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libdlock::{Client, Rate};
use libdlock_testkit::Server;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span's name and fields, as they are when it ends.
type Seen = Vec<(String, BTreeMap<String, String>)>;

#[derive(Clone, Default)]
struct Watching(Arc<Mutex<Seen>>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Subscriber for Watching {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        of.target() == "libdlock"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let mut seen = self.0.lock().expect("no panic");
        seen.push((span.metadata().name().to_owned(), fields));
        Id::from_u64(seen.len() as u64)
    }
    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut seen = self.0.lock().expect("no panic");
        values.record(&mut Fields(&mut seen[span.into_u64() as usize - 1].1));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Watching {
    /// The fields of the spans of this name, in order.
    fn of(&self, name: &str) -> Vec<BTreeMap<String, String>> {
        let seen = self.0.lock().expect("no panic");
        seen.iter().filter(|(other, _)| other == name).map(|(_, fields)| fields.clone()).collect()
    }
}

fn fields<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(field, value)| (field.to_owned(), value.to_owned())).collect()
}

#[tokio::test]
async fn calls_and_requests_are_in_spans() {
    // Which spans anybody wants is found out once for a process, by whichever test comes first.
    libdlock_testkit::own_process!();
    let server = Server::start();
    let watching = Watching::default();
    let _default = tracing::subscriber::set_default(watching.clone());
    let client = Client::connect(&server.url()).await.expect("connected");
    let held = client.lock("job").expect("a name").acquire().await.expect("acquired");
    let refused = client.lock("job").expect("a name").try_acquire().await.expect("no error");
    assert!(refused.is_none());
    let gives_up = client.lock("job").expect("a name");
    let waits = tokio::time::timeout(Duration::from_millis(20), gives_up.acquire()).await;
    assert!(waits.is_err(), "it is held");
    let token = held.token().to_string();
    held.release().await.expect("released");
    let object = ("object", "job");
    let of_lock = |rest: &[(&str, &str)]| {
        let mut all = fields([("kind", "lock"), object]);
        all.extend(rest.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())));
        all
    };
    let expected =
        [of_lock(&[("outcome", "granted"), ("token", &token)]), of_lock(&[("outcome", "BUSY")]), of_lock(&[])];
    assert_eq!(watching.of("acquire"), expected);

    let limiter = client.rate_limiter("api", Rate::new(1, Duration::from_secs(60))).expect("a rate");
    limiter.try_acquire(1).await.expect("decided");
    limiter.try_acquire(1).await.expect("decided");
    let of_limiter = |outcome| fields([("object", "api"), ("cost", "1"), ("outcome", outcome), ("remaining", "0")]);
    assert_eq!(watching.of("rate_limit"), [of_limiter("granted"), of_limiter("refused")]);

    let answered = |op| fields([("op", op), object, ("outcome", "answered")]);
    let requests = watching.of("request");
    assert!(requests.contains(&answered("acquire")) && requests.contains(&answered("release")), "{requests:?}");
}
