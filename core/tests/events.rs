//! What an event says about the hold that it is about, to the callback and to `tracing`.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libdlock::event::Event;
use libdlock::lease::{HolderId, Lease};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Config, ManualClock};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

/// Keeps the fields of every event as text.
#[derive(Clone, Default)]
struct Fields(Arc<Mutex<Vec<(String, String)>>>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push((field.name().to_owned(), format!("{value:?}")));
    }
}

impl Subscriber for Fields {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("libdlock")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn an_event_about_a_hold_carries_its_token_and_owner() {
    // The subscriber is the whole process's.
    libdlock_testkit::own_process!();
    let fields = Fields::default();
    tracing::subscriber::set_global_default(fields.clone()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (clock, events) = (ManualClock::new(), Arc::new(Mutex::new(Vec::<Event>::new())));
    let mut config = Config::from_url("memory://").unwrap();
    config.clock(clock.clone()).unwrap();
    let told = events.clone();
    config.on_event(Arc::new(move |event| told.lock().unwrap().push(event.clone())));
    let (token, owner) = runtime.block_on(async {
        let client = Client::connect_with(config).await.unwrap();
        let how = AcquireOptions::default().lease(Lease::Fixed(Duration::from_secs(1)));
        let held = client.lock("job").unwrap().acquire_as(HolderId::fresh(), how).await.unwrap();
        clock.advance(Duration::from_secs(2));
        tokio::time::timeout(Duration::from_secs(5), held.lost()).await.expect("the loss is told").unwrap();
        (held.token(), held.owner().to_owned())
    });
    let events = events.lock().unwrap();
    let lost = events.iter().find(|event| event.message.starts_with("lost while held")).expect("an event");
    assert_eq!(
        (lost.name.as_deref(), lost.token, lost.owner.as_deref()),
        (Some("job"), Some(token), Some(owner.as_str()))
    );
    let fields = fields.0.lock().unwrap();
    let said = |field: &str, value: String| fields.contains(&(field.to_owned(), value));
    assert!(said("token", token.to_string()) && said("owner", format!("{owner:?}")), "{fields:?}");
}
