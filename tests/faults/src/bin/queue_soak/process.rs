//! A producer or a consumer: what it does, and the lines that say so. It goes on until its input ends.
//!
//! `? ID` is said before a job is put, `~ ID` when it is tried again, `+ ID` when it is confirmed; `paused` once a producer rests after `pause`, and `go` ends that.
//! `D ID ATTEMPT` is a delivery, `A ID` is said before it is acknowledged, `K ID` when that is confirmed, `N ID` before it is put back.

use std::io::BufRead;
use std::time::Duration;

use fastrand::Rng;
use libdlock::queue::{NewJob, QueueOptions};
use libdlock::{Client, Queue, Wait};
use tokio::sync::mpsc;

use crate::{MAX_ATTEMPTS, NAME, POISON, WORKERS};

/// Runs as the words after `worker` say: `URL producer|consumer NUMBER SEED`.
pub fn run(words: &[String]) -> bool {
    let [url, role, number, seed] = words else { return false };
    let seed: u64 = seed.parse().expect("a seed");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let client = loop {
            // The server may be away at the moment.
            match Client::connect(url).await {
                Ok(client) => break client,
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        };
        println!("ready");
        let work = async {
            if role == "producer" {
                produce(&client, number, Rng::with_seed(seed), lines).await;
            } else {
                consume(&client, Rng::with_seed(seed), lines).await;
            }
        };
        work.await;
        client.close().await;
    });
    true
}

fn queue(client: &Client, max_attempts: u32) -> Queue {
    client.queue_with(NAME, QueueOptions::default().max_attempts(max_attempts)).expect("a name")
}

/// What a job has to say, of a length that its id fixes.
pub fn payload(id: &str) -> Vec<u8> {
    id.bytes().cycle().take(id.len() * (1 + id.len() % 7)).collect()
}

async fn produce(client: &Client, number: &str, mut rng: Rng, mut lines: mpsc::UnboundedReceiver<String>) {
    let (normal, poisoned) = (queue(client, 1_000_000), queue(client, MAX_ATTEMPTS));
    let mut serial = 0_u64;
    loop {
        while let Ok(line) = lines.try_recv() {
            if line == "pause" {
                println!("paused");
                while lines.recv().await.as_deref().is_some_and(|line| line != "go") {}
            }
        }
        if lines.is_closed() {
            return;
        }
        let is_poison = rng.u32(..8) == 0;
        let (queue, mark) = if is_poison { (&poisoned, POISON) } else { (&normal, "p") };
        let count = if is_poison { 1 } else { rng.u64(1..=20) };
        let ids: Vec<String> = (serial..serial + count).map(|n| format!("{mark}{number}-{n}")).collect();
        serial += count;
        let jobs: Vec<NewJob> = ids
            .iter()
            .map(|id| {
                let delay = Duration::from_millis(if rng.bool() { 0 } else { rng.u64(..3_000) });
                NewJob::new(payload(id)).id(id).delay(delay).priority(rng.i16(-3..3))
            })
            .collect();
        ids.iter().for_each(|id| println!("? {id}"));
        // With ids it may be repeated until it is known to be done.
        while let Err(error) = queue.put_many(jobs.clone()).await {
            println!("! put {}", error.kind().as_str());
            // One whose outcome is not known may have put jobs that are done by now, and then this puts them once more.
            ids.iter().for_each(|id| println!("~ {id}"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        ids.iter().for_each(|id| println!("+ {id}"));
        tokio::time::sleep(Duration::from_millis(rng.u64(50..400))).await;
    }
}

async fn consume(client: &Client, mut rng: Rng, mut lines: mpsc::UnboundedReceiver<String>) {
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..WORKERS {
        workers.spawn(work(queue(client, MAX_ATTEMPTS), rng.fork()));
    }
    while lines.recv().await.is_some() {}
    workers.shutdown().await;
}

async fn work(queue: Queue, mut rng: Rng) {
    loop {
        let taken = if rng.bool() {
            queue.take_for(Wait::For(Duration::from_millis(rng.u64(10..5_000)))).await.map(Vec::from_iter)
        } else {
            queue.take_many(rng.usize(1..6), Wait::For(Duration::from_secs(2))).await
        };
        let taken = match taken {
            Ok(taken) => taken,
            Err(error) => {
                println!("! take {}", error.kind().as_str());
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        for delivery in taken {
            let id = delivery.id().to_owned();
            println!("D {id} {}", delivery.attempt());
            if delivery.payload() != payload(&id) {
                println!("X the payload of {id} is another one's");
            }
            let long = rng.u32(..30) == 0;
            tokio::time::sleep(Duration::from_millis(if long { rng.u64(..3_000) } else { rng.u64(..20) })).await;
            let ended = match rng.u32(..100) {
                0..2 => {
                    println!("N {id}");
                    drop(delivery);
                    Ok(())
                }
                way if way < 10 || id.starts_with(POISON) => {
                    println!("N {id}");
                    delivery.nack_after(Duration::from_millis(rng.u64(..500)), "poison").await
                }
                _ => {
                    println!("A {id}");
                    let acked = delivery.ack().await;
                    acked.map(|()| println!("K {id}"))
                }
            };
            if let Err(error) = ended {
                println!("! end {}", error.kind().as_str());
            }
        }
    }
}
