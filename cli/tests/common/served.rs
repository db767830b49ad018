//! A `dlock serve` that runs, and requests to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use serde_json::Value;

use crate::common::{PATIENCE, Running, start};

pub struct Served {
    pub running: Running,
    pub url: String,
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: String,
}

impl Served {
    /// Starts it on a free port.
    pub fn start(mut command: Command) -> Served {
        command.args(["--listen", "127.0.0.1:0", "--json"]);
        let running = start(command);
        let told: Value = serde_json::from_str(&running.said("\n")).expect("JSON");
        Served { running, url: told["url"].as_str().expect("a URL").to_owned() }
    }

    pub fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").expect("HTTP").parse().expect("an address")
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}: {answer:?}"))
    }

    /// A request with these headers besides; a header `host` replaces the right one.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let host = self.address().to_string();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {host}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Answer { code, head: head.to_lowercase(), body: body.to_owned() }
    }
}
