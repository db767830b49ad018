//! What reaches a recorder of the facade.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libdlock::{Client, Rate};
use libdlock_metrics::Reporter;
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// Keeps what it is told, by `name{label=value,...}`.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<BTreeMap<String, f64>>>);

struct One(Kept, String);

impl One {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let mut kept = self.0.0.lock().expect("no panic");
        let value = kept.entry(self.1.clone()).or_default();
        *value = change(*value);
    }
}

impl CounterFn for One {
    fn increment(&self, value: u64) {
        self.change(|before| before + value as f64);
    }
    fn absolute(&self, value: u64) {
        self.change(|before| before.max(value as f64));
    }
}

impl GaugeFn for One {
    fn increment(&self, value: f64) {
        self.change(|before| before + value);
    }
    fn decrement(&self, value: f64) {
        self.change(|before| before - value);
    }
    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for One {
    /// Counts them, and adds them up beside that.
    fn record(&self, value: f64) {
        self.change(|before| before + 1.0);
        One(self.0.clone(), format!("{} sum", self.1)).change(|before| before + value);
    }
}

impl Kept {
    fn one(&self, key: &Key) -> Arc<One> {
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        Arc::new(One(self.clone(), format!("{}{{{}}}", key.name(), labels.join(","))))
    }

    fn value(&self, key: &str) -> Option<f64> {
        self.0.lock().expect("no panic").get(key).copied()
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.one(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.one(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.one(key))
    }
}

#[tokio::test]
async fn a_clients_statistics_reach_the_recorder_once() {
    let kept = Kept::default();
    let client = Client::connect("memory://").await.expect("connected");
    let reporter = Reporter::named(&client, "orders");
    let report = || metrics::with_local_recorder(&kept, || reporter.report());
    report();
    assert_eq!(kept.value("dlock_client_retries_total{client=orders}"), Some(0.0));
    assert_eq!(kept.value("dlock_client_held{client=orders,kind=lock}"), None, "it has used none");

    let held = client.lock("a").expect("a name").acquire().await.expect("acquired");
    let limiter = client.rate_limiter("b", Rate::new(1, Duration::from_secs(60))).expect("a rate");
    for _ in 0..3 {
        limiter.try_acquire(1).await.expect("decided");
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    report();
    held.release().await.expect("released");
    report();
    report();
    let of_lock = |metric: &str| kept.value(&format!("dlock_client_{metric}{{client=orders,kind=lock}}"));
    assert_eq!((of_lock("acquired_total"), of_lock("released_total")), (Some(1.0), Some(1.0)));
    assert_eq!(of_lock("held"), Some(0.0));
    // Of a histogram each time is told once, however often the client is looked at.
    assert_eq!(of_lock("hold_seconds"), Some(1.0));
    let sum = kept.value("dlock_client_hold_seconds{client=orders,kind=lock} sum").expect("told");
    let really = client.stats().lock.hold_time.sum.as_secs_f64();
    assert!((sum - really).abs() <= really / 2.0, "{sum} for {really}");
    let refused = kept.value("dlock_client_refused_total{client=orders,kind=rate-limiter}");
    assert_eq!(refused, Some(2.0));
}
