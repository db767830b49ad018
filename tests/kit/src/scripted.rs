//! A server that answers what a test tells it to: for replies that no real server gives.

use std::{
    io::{BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::resp::{Conn, Reply};

/// The raw reply to a command, given in its words; `None` for what a healthy, empty server would say.
pub type Answer = dyn Fn(&[String]) -> Option<String> + Send + Sync;

/// Listens until it is dropped. It knows how a client connects, and nothing else.
#[derive(Debug)]
pub struct Scripted {
    address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Scripted {
    /// Answers every command by `answer`.
    #[track_caller]
    pub fn start(answer: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let scripted = Self { address: listener.local_addr().expect("an address"), over: Arc::default() };
        let (answer, over): (Arc<Answer>, _) = (Arc::new(answer), scripted.over.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let answer = answer.clone();
                thread::spawn(move || serve(stream, &*answer));
            }
        });
        scripted
    }

    /// `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener; connections end with their clients.
        drop(TcpStream::connect(self.address));
    }
}

/// Until the client goes away.
fn serve(stream: TcpStream, answer: &Answer) {
    let Ok(mut replies) = stream.try_clone() else { return };
    let mut commands = Conn(BufReader::new(stream));
    while let Ok(Reply::Array(words)) = commands.read() {
        let words: Vec<String> = words.iter().map(|word| word.text().to_owned()).collect();
        let reply = answer(&words).unwrap_or_else(|| usual(&words));
        if replies.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn usual(words: &[String]) -> String {
    match words[0].to_ascii_uppercase().as_str() {
        "HELLO" => "%1\r\n+server\r\n+redis\r\n".into(),
        "TIME" => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            time(&now.as_secs().to_string(), &now.subsec_micros().to_string())
        }
        "INFO" => "+run_id:scripted\r\n".into(),
        "PING" => "+PONG\r\n".into(),
        _ => "+OK\r\n".into(),
    }
}

/// The reply to TIME.
pub fn time(seconds: &str, micros: &str) -> String {
    format!("*2\r\n${}\r\n{seconds}\r\n${}\r\n{micros}\r\n", seconds.len(), micros.len())
}
