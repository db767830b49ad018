package org.libdlock.spring.metrics;

import java.util.Map;

/** What each statistic is, by the name of its component. */
final class Descriptions {
    private Descriptions() {}

    // <api:metrics> written by `python3 api/write.py` from api/records.json
    static final Map<String, String> OF = Map.ofEntries(
            Map.entry("retries", "Requests sent again because no answer came."),
            Map.entry("acquired", "Grants to a caller."),
            Map.entry("contended", "Grants for which the caller had to wait."),
            Map.entry(
                    "handedOverLocal",
                    "Of the grants that were waited for, those that a holder of this process handed over."),
            Map.entry(
                    "handedOverRemote",
                    "Of the grants that were waited for, those whose turn came in the queue between processes."),
            Map.entry("waitTimeouts", "Calls that got nothing within their wait."),
            Map.entry("cancelled", "Calls whose caller gave up while it waited."),
            Map.entry("renewals", "Leases prolonged by the watchdog."),
            Map.entry("renewalFailures", "Renewals that got no answer or a passing error, and were tried again."),
            Map.entry("lost", "Holds that were lost."),
            Map.entry("released", "Holds that ended by a release."),
            Map.entry("waiting", "Callers that wait now."),
            Map.entry("held", "Holds that are looked after now."),
            Map.entry("granted", "Calls that got their tokens."),
            Map.entry("refused", "Calls that were refused."),
            Map.entry("tokens", "Tokens that were granted."),
            Map.entry("byPolicy", "Calls that a policy decided while the server was away."),
            Map.entry("countedDown", "Calls that counted a latch down."),
            Map.entry("opened", "Waits that found a latch open."),
            Map.entry("put", "Jobs put."),
            Map.entry("duplicates", "Jobs that were not put because a job of their id was there."),
            Map.entry("full", "Requests to put jobs that were refused because the queue was full."),
            Map.entry("taken", "Jobs delivered to a caller."),
            Map.entry("acked", "Deliveries that were acknowledged."),
            Map.entry("nacked", "Deliveries that were put back."),
            Map.entry("dead", "Deliveries put back whose job is dead."),
            Map.entry("removed", "Jobs that were cancelled, purged, or removed from the dead ones."),
            Map.entry("waitTime", "From a call to its grant."),
            Map.entry("holdTime", "From a grant to the beginning of its end."));
    // </api:metrics>
}
