//! As much of RESP2 as two scripts need.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One blocking connection.
pub struct Connection {
    reader: BufReader<TcpStream>,
    out: Vec<u8>,
}

impl Connection {
    /// Connects to `host:port`.
    pub fn open(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { reader: BufReader::new(stream), out: Vec::new() })
    }

    /// Adds a command to what the next [`Connection::flush`] sends.
    pub fn push(&mut self, words: &[&str]) {
        let out = &mut self.out;
        // Writing to a Vec cannot fail.
        let _ = write!(out, "*{}\r\n", words.len());
        for word in words {
            let _ = write!(out, "${}\r\n{word}\r\n", word.len());
        }
    }

    /// Sends everything pushed, as one write.
    pub fn flush(&mut self) -> io::Result<()> {
        self.reader.get_mut().write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Reads an array; the integers in it.
    pub fn integers(&mut self) -> io::Result<Vec<i64>> {
        Ok(self.array()?.into_iter().filter_map(|item| item.parse().ok()).collect())
    }

    /// Reads an array; its last item, which is the payload if it is a message.
    pub fn last(&mut self) -> io::Result<String> {
        Ok(self.array()?.pop().unwrap_or_default())
    }

    /// How long to wait for a reply.
    pub fn patience(&mut self, length: Duration) -> io::Result<()> {
        self.reader.get_mut().set_read_timeout(Some(length))
    }

    fn array(&mut self) -> io::Result<Vec<String>> {
        let count = self.header(b'*')?;
        (0..count).map(|_| self.item()).collect()
    }

    /// An integer or a text.
    fn item(&mut self) -> io::Result<String> {
        let mut line = self.line()?;
        if line.starts_with('$') {
            return self.line();
        }
        line.remove(0);
        Ok(line)
    }

    /// Reads an array that may have arrays in it; all that is no array, in its order.
    pub fn leaves(&mut self) -> io::Result<Vec<String>> {
        let (mut open, mut leaves) = (self.header(b'*')?, Vec::new());
        while open > 0 {
            open -= 1;
            let line = self.line()?;
            match line.as_bytes().first() {
                Some(b'*') => open += line[1..].parse::<i64>().map_err(io::Error::other)?,
                Some(b'$') => leaves.push(self.line()?),
                _ => leaves.push(line[1..].to_owned()),
            }
        }
        Ok(leaves)
    }

    /// Reads a simple string.
    pub fn simple(&mut self) -> io::Result<String> {
        self.line()
    }

    /// Reads a text.
    pub fn text(&mut self) -> io::Result<String> {
        self.header(b'$')?;
        self.line()
    }

    /// Loads a script; its digest.
    pub fn load(&mut self, script: &str) -> io::Result<String> {
        self.push(&["SCRIPT", "LOAD", script]);
        self.flush()?;
        self.text()
    }

    fn header(&mut self, kind: u8) -> io::Result<i64> {
        let line = self.line()?;
        match line.as_bytes().first() {
            Some(&found) if found == kind => line[1..].parse().map_err(io::Error::other),
            _ => Err(io::Error::other(format!("the server answered {line:?}"))),
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(line)
    }
}
