//! The command line: every command with its arguments, as `--help` shows them.

use std::env;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Arg, Args as ClapArgs, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use libdlock::Rate;
use libdlock::limit::Algorithm;
use libdlock::survey::Kind;

use crate::duration;
use crate::live::pick::Sort;

/// Distributed locks, limiters and queues on Redis or Valkey, from a shell
#[derive(Debug, Parser)]
#[command(name = "dlock", version, disable_help_subcommand = true, max_term_width = 100)]
// Without an empty line above the usage: it has to fit 24 lines.
#[command(help_template = "{about-with-newline}{usage-heading} {usage}\n\n{all-args}{after-help}")]
pub struct Args {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print JSON, for programs
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

/// Reads the command line.
///
/// # Errors
/// Errors of clap, one of which is its help.
pub fn parse() -> Result<Args, clap::Error> {
    let is_negative = |word: OsString| matches!(word.as_encoded_bytes(), [b'-', b'0'..=b'9', ..]);
    let mut command = Args::command();
    if env::args_os().take_while(|word| word != "--").any(is_negative) {
        command = with_negative_values(command);
    }
    let mut matches = command.try_get_matches()?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut Args::command()))
}

/// The same command whose options take `-1` for their value and not for a flag. To a flag that it does not know, clap would say
/// that it goes behind `--`, where the command to run stands.
fn with_negative_values(command: Command) -> Command {
    // `-1s` and `-5/s` are not numbers to clap.
    const AMOUNTS: [&str; 3] = ["N", "TIME", "RATE"];
    let of_arg = |arg: Arg| {
        let is_amount = arg.get_value_names().unwrap_or_default().iter().any(|name| AMOUNTS.contains(&name.as_str()));
        match !arg.is_positional() && arg.get_action().takes_values() {
            true if is_amount => arg.allow_hyphen_values(true),
            true => arg.allow_negative_numbers(true),
            false => arg,
        }
    };
    command.mut_args(of_arg).mut_subcommands(with_negative_values)
}

/// Which server, and how.
#[derive(Clone, Debug, ClapArgs)]
pub struct ServerArgs {
    /// The server [or $DLOCK_URL, or 127.0.0.1:6379]
    #[arg(long, global = true, value_name = "URL", display_order = 901, value_hint = ValueHint::Url)]
    pub url: Option<String>,
    /// A file with the password [or $DLOCK_PASSWORD]
    #[arg(long, global = true, value_name = "FILE", display_order = 902, value_hint = ValueHint::FilePath)]
    pub password_file: Option<PathBuf>,
    /// An option, such as key_prefix=app:
    #[arg(short = 'o', long = "option", global = true, value_name = "NAME=VALUE", display_order = 903)]
    pub options: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command while holding a lock
    Run(RunArgs),
    /// List the locks, semaphores, limiters and queues of a server
    Ls(LsArgs),
    /// Show one object: its holder, time left, token, who waits
    Inspect(InspectArgs),
    /// Free a lock, whoever holds it
    Release(ReleaseArgs),
    /// Take tokens of a rate limiter, and run a command if there are some
    Limit(LimitArgs),
    /// Make unique ids, or take one apart
    Id(IdArgs),
    /// Put and take jobs
    #[command(subcommand)]
    Queue(QueueVerb),
    /// Watch locks, queues and clients in the terminal
    Top(TopArgs),
    /// Serve the same as a web page, JSON and Prometheus metrics
    Serve(ServeArgs),
    /// Print the access rules that a user of the server needs
    Acl(AclArgs),
    /// Look for settings of the server that endanger locks
    Doctor(DoctorArgs),
    /// Print the completion for a shell
    Completion(CompletionArgs),
}

/// A time, as the arguments have it.
fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text)
}

fn whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => error.to_string(),
        _ => "write a whole number, 0 or more".to_owned(),
    })
}

fn kind(text: &str) -> Result<Kind, String> {
    text.parse().map_err(|error: libdlock::Error| error.message().to_owned())
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    text.parse().map_err(|error: libdlock::Error| error.message().to_owned())
}

/// `10/s`, `100/m`, `5/10s`.
fn rate(text: &str) -> Result<Rate, String> {
    const ALLOWED: &str = "write a rate as 10/s, 100/m or 5/10s";
    let (tokens, per) = text.split_once('/').ok_or(ALLOWED)?;
    if !per.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Err(ALLOWED.to_owned());
    }
    let per = if per.starts_with(|letter: char| letter.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
    let tokens = tokens.parse().map_err(|_| ALLOWED)?;
    Ok(Rate::new(tokens, duration::parse(&per).map_err(|_| ALLOWED)?))
}

#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The name of the lock
    pub name: String,
    /// Wait so long, 0 is not at all [default: no end]
    #[arg(long, short, value_name = "TIME", value_parser = time)]
    pub wait: Option<Duration>,
    /// How long it outlives a dlock that dies
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub lease: Duration,
    /// The exit code when it was not free in time
    #[arg(long, short = 'E', value_name = "N", default_value_t = crate::exit::NO)]
    pub conflict_exit_code: u8,
    /// Between TERM and KILL, when it is lost
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub grace: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// How far a list goes.
#[derive(Debug, ClapArgs)]
pub struct LsArgs {
    /// Names that match: * and ? and [a-z]
    #[arg(default_value = "*")]
    pub pattern: String,
    /// lock, semaphore, queue, rate-limiter, ...
    #[arg(long, short, value_parser = kind)]
    pub kind: Option<Kind>,
    /// Those that nobody uses, too
    #[arg(long, short)]
    pub all: bool,
    /// List so many objects at most
    #[arg(long, value_name = "N", value_parser = whole::<usize>, default_value_t = 1_000)]
    pub most: usize,
    /// Look at so many keys of each server at most
    #[arg(long, value_name = "N", value_parser = whole::<u64>, default_value_t = 100_000)]
    pub visit: u64,
}

#[derive(Debug, ClapArgs)]
pub struct InspectArgs {
    /// The name of the object
    pub name: String,
    /// Its kind, where its keys do not tell
    #[arg(long, short, value_parser = kind)]
    pub kind: Option<Kind>,
}

#[derive(Debug, ClapArgs)]
pub struct ReleaseArgs {
    /// The name of the lock
    pub name: String,
    /// Whoever holds it; on a terminal you are asked first
    #[arg(long, required = true)]
    pub force: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// It is a read-write lock
    #[arg(long)]
    pub rw: bool,
}

#[derive(Debug, ClapArgs)]
pub struct LimitArgs {
    /// The name of the limiter
    pub name: String,
    /// So many in each period: 10/s, 5/10s [repeatable]
    #[arg(long, short, required = true, value_name = "RATE", value_parser = rate)]
    pub rate: Vec<Rate>,
    /// So many at once [default: those of a period]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub burst: Option<u64>,
    /// gcra, fixed_window, sliding_log, ...
    #[arg(long, value_parser = algorithm)]
    pub algorithm: Option<Algorithm>,
    /// Take so many; 0 only shows how things stand
    #[arg(long, value_name = "N", value_parser = whole::<u64>, default_value_t = 1)]
    pub cost: u64,
    /// Wait so long for them
    #[arg(long, short, value_name = "TIME", value_parser = time, default_value = "0")]
    pub wait: Duration,
    /// The exit code when there are none
    #[arg(long, short = 'E', value_name = "N", default_value_t = crate::exit::NO)]
    pub conflict_exit_code: u8,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

#[derive(Debug, ClapArgs)]
pub struct IdArgs {
    /// Make so many
    #[arg(long, short = 'n', value_name = "N", value_parser = whole::<usize>, default_value_t = 1)]
    pub count: usize,
    /// Lease the worker number from this pool
    #[arg(long, value_name = "NAME", default_value = "dlock")]
    pub pool: String,
    /// The worker number, needs no server
    #[arg(long, value_name = "N", value_parser = whole::<u64>, conflicts_with = "pool")]
    pub worker: Option<u64>,
    /// The number of the datacenter, with --worker
    #[arg(long, value_name = "N", value_parser = whole::<u64>, default_value_t = 0, requires = "worker")]
    pub datacenter: u64,
    /// The layout: default, twitter or js53
    #[arg(long, default_value = "default")]
    pub layout: String,
    /// Digits: 10, 32, 36, 58 or 62
    #[arg(long, default_value_t = 10)]
    pub base: u32,
    /// Take this id apart instead
    #[arg(long, value_name = "ID", conflicts_with_all = ["count", "pool", "worker"])]
    pub decode: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum QueueVerb {
    /// Put a job
    Put(PutArgs),
    /// Take a job and run a command on it, or print it
    Take(TakeArgs),
    /// Show how many jobs there are, and the first that wait
    Ls(JobsArgs),
    /// Show the jobs that failed too often; put them back or remove them
    Dead(DeadArgs),
}

#[derive(Debug, ClapArgs)]
pub struct PutArgs {
    /// The name of the queue
    pub name: String,
    /// What to put; standard input where it is left out
    pub payload: Option<OsString>,
    /// Put nothing while a job with this id is there
    #[arg(long)]
    pub id: Option<String>,
    /// Due after so long
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0")]
    pub delay: Duration,
    /// Jobs that are due come by priority, the higher first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub priority: i16,
    /// Deliver it so often at most
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub max_attempts: u32,
}

#[derive(Debug, ClapArgs)]
pub struct TakeArgs {
    /// The name of the queue
    pub name: String,
    /// Wait so long for a job
    #[arg(long, short, value_name = "TIME", value_parser = time, default_value = "0")]
    pub wait: Duration,
    /// When the job of a dlock that dies comes again
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub lease: Duration,
    /// When a job whose command failed comes again: at first, each time twice as late
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1s")]
    pub retry_after: Duration,
    /// The longest of these
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5m")]
    pub retry_at_most: Duration,
    /// The exit code when no job is due
    #[arg(long, short = 'E', value_name = "N", default_value_t = crate::exit::NO)]
    pub conflict_exit_code: u8,
    /// Between TERM and KILL, when it is lost
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub grace: Duration,
    /// The command, which reads the job from standard input
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

#[derive(Debug, ClapArgs)]
pub struct JobsArgs {
    /// The name of the queue
    pub name: String,
    /// Show so many jobs at most, 1 to 1000
    #[arg(long, value_name = "N", value_parser = whole::<usize>, default_value_t = 20)]
    pub most: usize,
}

#[derive(Debug, ClapArgs)]
pub struct DeadArgs {
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Have the job with this id wait again
    #[arg(long, value_name = "ID", group = "what")]
    pub requeue: Option<String>,
    /// Have all of them wait again
    #[arg(long, group = "what")]
    pub requeue_all: bool,
    /// Remove the job with this id
    #[arg(long, value_name = "ID", group = "what")]
    pub remove: Option<String>,
}

/// What is watched, and how often.
#[derive(Clone, Debug, ClapArgs)]
pub struct LiveArgs {
    /// Names that match: * and ? and [a-z]
    #[arg(default_value = "*")]
    pub pattern: String,
    /// Read so often at most, 100ms to 1h
    #[arg(long, value_name = "TIME", value_parser = every, default_value = "1s")]
    pub every: Duration,
    /// Watch so many objects at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value_t = 20_000)]
    pub most: u32,
}

fn every(text: &str) -> Result<Duration, String> {
    let allowed = Duration::from_millis(100)..=Duration::from_secs(3_600);
    let every = duration::parse(text)?;
    allowed.contains(&every).then_some(every).ok_or_else(|| "write a time of 100ms to 1h".to_owned())
}

#[derive(Debug, ClapArgs)]
pub struct TopArgs {
    #[command(flatten)]
    pub live: LiveArgs,
    /// What the rows are sorted by
    #[arg(long, value_enum, default_value_t = Sort::Name, hide_possible_values = true,
        help = "Sort by name, left, queued, waited, grants or held")]
    pub sort: Sort,
    /// Print what there is once, and end
    #[arg(long)]
    pub once: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    #[command(flatten)]
    pub live: LiveArgs,
    /// Where: an address and a port, or a port
    #[arg(long, value_name = "ADDRESS", value_parser = listen, default_value = "127.0.0.1:7380")]
    pub listen: SocketAddr,
    /// Answer requests to this host name, too [repeatable]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Hostname)]
    pub host: Vec<String>,
    /// Let the page release locks, whoever holds them
    #[arg(long)]
    pub allow_force: bool,
}

/// `127.0.0.1:7380`, `[::1]:7380`, or `7380` on the loopback.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>().map(|port| (Ipv4Addr::LOCALHOST, port).into());
    let allowed = "write an address and a port, as 127.0.0.1:7380 or [::]:7380, or a port alone";
    text.parse().or(port).map_err(|_| allowed.to_owned())
}

#[derive(Debug, ClapArgs)]
pub struct AclArgs {
    /// For names that begin so [default: any name]
    #[arg(long)]
    pub prefix: Option<String>,
    /// The user
    #[arg(long, default_value = "libdlock")]
    pub user: String,
    /// Objects of this kind alone [repeatable]
    #[arg(long, short, value_parser = kind)]
    pub kind: Vec<Kind>,
    /// The server is a node of a cluster
    #[arg(long)]
    pub cluster: bool,
    /// What `dlock ls`, `inspect`, `top`, `serve` and `doctor` need, too
    #[arg(long)]
    pub tools: bool,
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// Check the rights for this kind alone [repeatable]
    #[arg(long, short, value_parser = kind)]
    pub kind: Vec<Kind>,
}

#[derive(Debug, ClapArgs)]
pub struct CompletionArgs {
    /// The shell
    pub shell: Shell,
}
