//! `dlock id`: unique ids, and what one says.

use std::time::{Duration, UNIX_EPOCH};

use libdlock::Snowflake;
use libdlock::id::{self, Layout};
use serde_json::json;

use crate::args::{IdArgs, ServerArgs};
use crate::connection::connect;
use crate::exit::Failure;
use crate::out::Out;

pub async fn id(server: &ServerArgs, args: &IdArgs, out: &Out) -> Result<u8, Failure> {
    let layout = Layout::named(&args.layout)?;
    if let Some(text) = &args.decode {
        return decode(layout, text, args.base, out);
    }
    // Before a number is leased for nothing.
    id::encode(0, args.base)?;
    let ids = match args.worker {
        Some(worker) => Snowflake::builder(args.datacenter, worker).layout(layout).build()?.next_ids(args.count)?,
        None => {
            let client = connect(server).await?;
            let worker = client.worker(&args.pool).await?;
            let ids = worker.snowflake(layout)?.next_ids(args.count);
            let released = worker.release().await;
            client.close().await;
            // What was made is good, whatever becomes of the number.
            let ids = ids?;
            released?;
            ids
        }
    };
    let texts = ids.iter().map(|id| id::encode(*id, args.base)).collect::<Result<Vec<_>, _>>()?;
    match out.json {
        true => out.document(&json!({ "ids": texts }))?,
        false => out.bytes((texts.join("\n") + "\n").as_bytes())?,
    }
    Ok(0)
}

fn decode(layout: Layout, text: &str, base: u32, out: &Out) -> Result<u8, Failure> {
    let parts = layout.decode(id::parse(text, base)?)?;
    match out.json {
        true => out.document(&json!({
            "time_ms": parts.time_ms, "datacenter": parts.datacenter, "worker": parts.worker, "sequence": parts.sequence,
        }))?,
        false => {
            let since = UNIX_EPOCH + Duration::from_millis(u64::try_from(parts.time_ms).unwrap_or(0));
            out.bytes(
                format!(
                    "time        {}\ndatacenter  {}\nworker      {}\nsequence    {}\n",
                    crate::duration::date(since),
                    parts.datacenter,
                    parts.worker,
                    parts.sequence
                )
                .as_bytes(),
            )?;
        }
    }
    Ok(0)
}
