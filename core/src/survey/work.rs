//! How much work a server has with what it is asked, by its own account.

use std::time::{Duration, Instant};

use super::{Survey, text};
use crate::backend::OneServer;
use crate::error::Result;
use crate::step::Reply;

impl Survey {
    /// The processor time that all servers have spent since they were started, on whatever; none of a server that does not tell.
    ///
    /// # Errors
    /// As of [`Survey::waiters`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn processor_time(&self) -> Result<Duration> {
        const OP: &str = "processor time";
        let mut sum = Duration::ZERO;
        for server in self.servers(OP)? {
            let answers = self.ask(&server, OP, &[question()]).await?;
            sum += answers.first().and_then(spent).unwrap_or_default();
        }
        Ok(sum)
    }

    /// As [`Survey::ask`], and the processor time that the server spent from the first command to the last. Commands of others
    /// that come between count, too. Of a server that does not tell, the time until the answers came.
    pub(super) async fn ask_and_measure(
        &self,
        server: &OneServer<'_>,
        op: &'static str,
        commands: Vec<Vec<String>>,
    ) -> Result<(Vec<Result<Reply>>, Duration)> {
        let (began, mut all) = (Instant::now(), vec![question()]);
        all.extend(commands);
        all.push(question());
        let mut answers = self.ask(server, op, &all).await?;
        let after = answers.pop().as_ref().and_then(spent);
        let before = (!answers.is_empty()).then(|| answers.remove(0)).as_ref().and_then(spent);
        let busy = after.zip(before).and_then(|(after, before)| after.checked_sub(before));
        Ok((answers, busy.unwrap_or_else(|| began.elapsed())))
    }
}

fn question() -> Vec<String> {
    ["INFO", "cpu"].map(str::to_owned).to_vec()
}

/// The processor time in an answer to INFO.
fn spent(answer: &Result<Reply>) -> Option<Duration> {
    let info = text(answer.as_ref().ok()?)?;
    let of = |field: &str| {
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        Duration::try_from_secs_f64(value.trim().parse().ok()?).ok()
    };
    of("used_cpu_user")?.checked_add(of("used_cpu_sys")?)
}
