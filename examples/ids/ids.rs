//! Ids that grow with time, without a server. The pair of numbers has to belong to this process alone.

use libdlock::id::{encode, parse};
use libdlock::{Result, Snowflake};

fn main() -> Result<()> {
    let ids = Snowflake::new(1, 7)?;
    let many = ids.next_ids(1000)?;
    if many.is_sorted_by(|id, next| id < next) {
        println!("{} ids, each larger than the one before", many.len());
    }
    let parts = ids.decode(many[0])?;
    println!("made by worker {} of datacenter {}", parts.worker, parts.datacenter);
    if parse(&encode(many[0], 62)?, 62)? == many[0] {
        println!("the text in base 62 stands for the same id");
    }
    Ok(())
}
