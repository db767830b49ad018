//! Clients.

use libdlock_bridge::ops::{self, LogTo};
use napi_derive::napi;

use crate::answer::{Answer, Given, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// Brings the new client's handle. `log_id` comes with each of its events; without one there are none.
    #[napi(catch_unwind)]
    pub fn client_open(
        &self,
        id: i64,
        url: String,
        options: Vec<(String, String)>,
        log_id: Option<i64>,
    ) -> Answer<Given> {
        let port = self.inner.port();
        let log = log_id.map(|log_id| LogTo { port, user_data: log_id.cast_unsigned() });
        self.submit("clientOpen", id, |state| ops::client_open(state, url, options, log))
    }

    #[napi(catch_unwind)]
    pub fn client_close(&self, id: i64, client: Given, release: bool) -> Answer<Given> {
        self.submit("clientClose", id, |state| ops::client_close(state, handle(client), release))
    }
}
