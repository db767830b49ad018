/** How often something took how long; times are in milliseconds, with their fraction. */
export interface Histogram {
  readonly count: number;
  readonly sumMs: number;
  readonly meanMs: number;
  /** What half of them did not exceed: never too small, less than twice too large. */
  readonly p50Ms: number;
  /** What 99 of 100 did not exceed, as precise. */
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too. */
  readonly buckets: readonly number[];
}

/** What a client has counted since it was opened, for its locks; rate limiters are not counted. */
export interface Stats {
  /** Holds granted; re-entries are none. */
  readonly acquired: number;
  /** Of those, the ones that had to wait. */
  readonly contended: number;
  /** Of those that waited, the ones that a holder of this process handed over. */
  readonly handedOverLocal: number;
  /** Of those that waited, the ones whose turn came in the queue between processes. */
  readonly handedOverRemote: number;
  /** Acquires that were not granted within their wait. */
  readonly waitTimeouts: number;
  /** Acquires whose caller gave up while they waited. */
  readonly cancelled: number;
  /** Requests sent again because no answer came. */
  readonly retries: number;
  /** Leases prolonged by the watchdog, one for each lock and time. */
  readonly renewals: number;
  /** Renewals that failed and were tried again while the lease lasted. */
  readonly renewalFailures: number;
  /** Holds that were lost. */
  readonly lost: number;
  /** Holds that ended by a release. */
  readonly released: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** Holds that are looked after now. */
  readonly held: number;
  /** From the call of an acquire to its grant: as many as `acquired`. */
  readonly waitTime: Histogram;
  /** From a grant to the beginning of its release: as many as `released`. */
  readonly holdTime: Histogram;
}
