//! One command to a Redis server and its reply, blocking, without libdlock: for looking at the server with other eyes.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::access::ADMIN;

/// What a server answered (RESP2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A nil bulk string or array.
    Nil,
    /// `:n`
    Int(i64),
    /// A status (`+OK`) or a bulk string.
    Text(Vec<u8>),
    /// An array.
    Array(Vec<Reply>),
    /// `-ERR ...`, with its code.
    Error(String),
}

impl Reply {
    /// The text of a status or bulk string; panics when it is something else or no UTF-8.
    #[track_caller]
    pub fn text(&self) -> &str {
        match self {
            Reply::Text(bytes) => std::str::from_utf8(bytes).expect("UTF-8"),
            other => panic!("not a text: {other:?}"),
        }
    }

    /// An integer, also one in decimal text; panics when it is something else.
    #[track_caller]
    pub fn int(&self) -> i64 {
        match self {
            Reply::Int(n) => *n,
            other => other.text().parse().unwrap_or_else(|_| panic!("not an integer: {other:?}")),
        }
    }

    /// The elements of an array; panics when it is something else.
    #[track_caller]
    pub fn array(&self) -> &[Reply] {
        match self {
            Reply::Array(items) => items,
            other => panic!("not an array: {other:?}"),
        }
    }

    /// Whether it is nil.
    pub fn is_nil(&self) -> bool {
        *self == Reply::Nil
    }
}

/// A connection of the test's own.
#[derive(Debug)]
pub struct Conn(pub(crate) BufReader<TcpStream>);

impl Conn {
    /// Connects; every read and write is bounded by 10 s.
    pub fn open(address: impl ToSocketAddrs) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let conn = Self(BufReader::new(stream));
        conn.read_timeout(Some(Duration::from_secs(10)))?;
        conn.0.get_ref().set_write_timeout(Some(Duration::from_secs(10)))?;
        Ok(conn)
    }

    /// Connects to a server of the kit, also through a proxy, as a user who may do everything.
    pub fn open_as_admin(address: impl ToSocketAddrs) -> io::Result<Self> {
        let mut conn = Self::open(address)?;
        conn.cmd(&["AUTH", ADMIN, "any password"])?;
        Ok(conn)
    }

    /// How long a reply may take.
    pub fn read_timeout(&self, bound: Option<Duration>) -> io::Result<()> {
        self.0.get_ref().set_read_timeout(bound)
    }

    /// Sends one command and reads its reply.
    pub fn cmd<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Reply> {
        self.send(args)?;
        self.read()
    }

    /// Sends a command without reading anything.
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<()> {
        self.0.get_mut().write_all(&encode(args))
    }

    /// Reads the next reply (or, on a subscribed connection, the next message).
    pub fn read(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| bad("an empty line"))?;
        let number = || rest.parse::<i64>().map_err(|_| bad(&line));
        Ok(match kind {
            "+" => Reply::Text(rest.into()),
            "-" => Reply::Error(rest.into()),
            ":" => Reply::Int(number()?),
            "$" | "*" if number()? < 0 => Reply::Nil,
            "$" => {
                let mut bytes = vec![0; number()? as usize + 2];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Reply::Text(bytes)
            }
            "*" => Reply::Array((0..number()?).map(|_| self.read()).collect::<io::Result<_>>()?),
            _ => return Err(bad(&line)),
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.into()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn bad(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not RESP: {line:?}"))
}

/// A connection of a user who may do everything, kept for commands to one address.
#[derive(Debug)]
pub(crate) struct Kept {
    address: SocketAddr,
    conn: Mutex<Option<Conn>>,
}

impl Kept {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, conn: Mutex::new(None) }
    }

    /// Runs one command. When the connection was lost (by `CLIENT KILL`, say) it is sent once more over a new one.
    pub(crate) fn cmd<A: AsRef<[u8]>>(&self, args: &[A]) -> io::Result<Reply> {
        let mut kept = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reply) = kept.as_mut().and_then(|conn| conn.cmd(args).ok()) {
            return Ok(reply);
        }
        *kept = None;
        let mut conn = Conn::open_as_admin(self.address)?;
        let reply = conn.cmd(args)?;
        *kept = Some(conn);
        Ok(reply)
    }

    /// Closes it; the next command opens another one.
    pub(crate) fn close(&self) {
        *self.conn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A command as it goes over the wire.
pub fn encode<A: AsRef<[u8]>>(args: &[A]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args.iter().map(AsRef::as_ref) {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Bytes that are no RESP command.
pub(crate) struct NotResp;

/// A whole command at the start of some bytes.
pub(crate) struct Command<'a> {
    /// How many bytes it takes.
    pub length: usize,
    /// Its name and arguments.
    pub args: Vec<&'a [u8]>,
}

/// The first command in `bytes`; `None` when it is not complete yet.
pub(crate) fn decode_command(bytes: &[u8]) -> Result<Option<Command<'_>>, NotResp> {
    let Some((mut at, count)) = header(bytes, 0, b'*')? else { return Ok(None) };
    let mut args = Vec::new();
    for _ in 0..count {
        let Some((start, length)) = header(bytes, at, b'$')? else { return Ok(None) };
        let end = start + length;
        if bytes.len() < end + 2 {
            return Ok(None);
        }
        args.push(&bytes[start..end]);
        at = end + 2;
    }
    Ok(Some(Command { length: at, args }))
}

/// Reads `<kind><number>\r\n` at `at`: where it ends, and the number.
fn header(bytes: &[u8], at: usize, kind: u8) -> Result<Option<(usize, usize)>, NotResp> {
    let rest = &bytes[at..];
    if rest.first().is_some_and(|b| *b != kind) {
        return Err(NotResp);
    }
    let Some(length) = rest.windows(2).position(|w| w == b"\r\n") else { return Ok(None) };
    let number = std::str::from_utf8(&rest[1..length]).ok().and_then(|n| n.parse().ok()).ok_or(NotResp)?;
    Ok(Some((at + length + 2, number)))
}
