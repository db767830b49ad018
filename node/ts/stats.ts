/** How often something took how long; times are in milliseconds, with their fraction. */
export interface Histogram {
  // <api:histogram> written by `python3 api/write.py` from api/records.json
  /** How many there were. */
  readonly count: number;
  /** All together. */
  readonly sumMs: number;
  /** On average. */
  readonly meanMs: number;
  /** What half of them did not exceed: never too small, less than twice too large. */
  readonly p50Ms: number;
  /** What 99 of 100 did not exceed, as precise. */
  readonly p99Ms: number;
  /** The longest. */
  readonly maxMs: number;
  /** How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too. */
  readonly buckets: readonly number[];
  // </api:histogram>
}

/** What the locks of a client have counted. */
export interface LockStats {
  // <api:lock-stats> written by `python3 api/write.py` from api/records.json
  /** Holds granted to a caller; taking over a detached hold counts, a re-entry does not. */
  readonly acquired: number;
  /** Acquires that had to wait, and were granted. */
  readonly contended: number;
  /** Of those that waited, the ones that a holder of this process handed over. */
  readonly handedOverLocal: number;
  /** Of those that waited, the ones whose turn came in the queue between processes. */
  readonly handedOverRemote: number;
  /** Acquires that were not granted within their wait. */
  readonly waitTimeouts: number;
  /** Acquires whose caller gave up while it waited. */
  readonly cancelled: number;
  /** Leases prolonged by the watchdog, one for each lock and time. */
  readonly renewals: number;
  /** Renewals that got no answer or a passing error, and were tried again while the lease lasted. */
  readonly renewalFailures: number;
  /** Holds that were lost, abandoned ones included. */
  readonly lost: number;
  /** Holds that ended by a release; detaching is one. */
  readonly released: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** Holds that are looked after now. */
  readonly held: number;
  /** From the call of an acquire to its grant, waited or not: as many as `acquired`. */
  readonly waitTime: Histogram;
  /** From a grant to the beginning of its release: as many as `released`. */
  readonly holdTime: Histogram;
  // </api:lock-stats>
}

/** What the rate limiters of a client have counted; a `peek` is not counted. */
export interface LimiterStats {
  // <api:limiter-stats> written by `python3 api/write.py` from api/records.json
  /** Calls that got their tokens. */
  readonly granted: number;
  /** Calls that were refused. */
  readonly refused: number;
  /** Tokens that were granted. */
  readonly tokens: number;
  /** Of all these calls, the ones that a policy decided while the server was away. */
  readonly byPolicy: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** From a call to its grant, waited or not: as many as `granted`. */
  readonly waitTime: Histogram;
  // </api:limiter-stats>
}

/** What the semaphores of a client have counted. */
export interface SemaphoreStats {
  // <api:semaphore-stats> written by `python3 api/write.py` from api/records.json
  /** Holds granted to a caller, of however many permits each. */
  readonly acquired: number;
  /** Acquires that had to wait, and were granted. */
  readonly contended: number;
  /** Of those that waited, the ones that a holder of this process handed over. */
  readonly handedOverLocal: number;
  /** Of those that waited, the ones whose turn came in the queue between processes. */
  readonly handedOverRemote: number;
  /** Acquires that were not granted within their wait. */
  readonly waitTimeouts: number;
  /** Acquires whose caller gave up while it waited. */
  readonly cancelled: number;
  /** Leases prolonged by the watchdog, one for each hold and time. */
  readonly renewals: number;
  /** Renewals that got no answer or a passing error, and were tried again while the lease lasted. */
  readonly renewalFailures: number;
  /** Holds that were lost, abandoned ones included. */
  readonly lost: number;
  /** Holds that ended by a release. */
  readonly released: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** Holds that are looked after now. */
  readonly held: number;
  /** From the call of an acquire to its grant, waited or not: as many as `acquired`. */
  readonly waitTime: Histogram;
  /** From a grant to the beginning of its release: as many as `released`. */
  readonly holdTime: Histogram;
  // </api:semaphore-stats>
}

/** What the read-write locks of a client have counted. */
export interface RwLockStats {
  // <api:rw_lock-stats> written by `python3 api/write.py` from api/records.json
  /** Holds granted to a caller, of either side; a re-entry does not count. */
  readonly acquired: number;
  /** Acquires that had to wait, and were granted. */
  readonly contended: number;
  /** Of those that waited, the readers that share the hold of another one of this process. */
  readonly handedOverLocal: number;
  /** Of those that waited, the ones whose turn came in the queue between processes. */
  readonly handedOverRemote: number;
  /** Acquires that were not granted within their wait. */
  readonly waitTimeouts: number;
  /** Acquires whose caller gave up while it waited. */
  readonly cancelled: number;
  /** Leases prolonged by the watchdog, one for each hold of the server and time. */
  readonly renewals: number;
  /** Renewals that got no answer or a passing error, and were tried again while the lease lasted. */
  readonly renewalFailures: number;
  /** Holds of the server that were lost, abandoned ones included. */
  readonly lost: number;
  /** Holds that ended by a release. */
  readonly released: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** Holds of the server that are looked after now. */
  readonly held: number;
  /** From the call of an acquire to its grant, waited or not: as many as `acquired`. */
  readonly waitTime: Histogram;
  /** From a grant to the beginning of its release: as many as `released`. */
  readonly holdTime: Histogram;
  // </api:rw_lock-stats>
}

/** What the counting semaphores of a client have counted; `released` may exceed `acquired`: anybody may release. */
export interface CountingSemaphoreStats {
  // <api:counting_semaphore-stats> written by `python3 api/write.py` from api/records.json
  /** Acquires that were granted, of however many permits each. */
  readonly acquired: number;
  /** Acquires that had to wait, and were granted. */
  readonly contended: number;
  /** Acquires that were not granted within their wait. */
  readonly waitTimeouts: number;
  /** Acquires whose caller gave up while it waited. */
  readonly cancelled: number;
  /** Releases that the server has confirmed, of however many permits each. */
  readonly released: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** From the call of an acquire to its grant, waited or not: as many as `acquired`. */
  readonly waitTime: Histogram;
  // </api:counting_semaphore-stats>
}

/** What the latches of a client have counted. */
export interface LatchStats {
  // <api:latch-stats> written by `python3 api/write.py` from api/records.json
  /** Calls that counted down, by however many each. */
  readonly countedDown: number;
  /** Waits that found the latch open. */
  readonly opened: number;
  /** Waits whose time was over first. */
  readonly waitTimeouts: number;
  /** Waits whose caller gave up. */
  readonly cancelled: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** From the call of a wait until it found the latch open: as many as `opened`. */
  readonly waitTime: Histogram;
  // </api:latch-stats>
}

/** What the worker numbers of a client have counted. */
export interface WorkerStats {
  // <api:worker-stats> written by `python3 api/write.py` from api/records.json
  /** Numbers leased. */
  readonly acquired: number;
  /** Leases that were refused because all numbers were taken. */
  readonly refused: number;
  /** Leases prolonged by the watchdog, one for each number and time. */
  readonly renewals: number;
  /** Renewals that got no answer or a passing error, and were tried again while the lease lasted. */
  readonly renewalFailures: number;
  /** Numbers that were lost. */
  readonly lost: number;
  /** Numbers that were given back. */
  readonly released: number;
  /** Numbers that are looked after now. */
  readonly held: number;
  /** From the call to the number: as many as `acquired`. */
  readonly waitTime: Histogram;
  /** From the lease of a number to the beginning of its release: as many as `released`. */
  readonly holdTime: Histogram;
  // </api:worker-stats>
}

/** What the queues of a client have counted. */
export interface QueueStats {
  // <api:queue-stats> written by `python3 api/write.py` from api/records.json
  /** Jobs put. */
  readonly put: number;
  /** Jobs that were not put because a job of their id was there. */
  readonly duplicates: number;
  /** Requests to put jobs that were refused because the queue was full. */
  readonly full: number;
  /** Jobs delivered to a caller. */
  readonly taken: number;
  /** Of these, the ones that the caller had to wait for. */
  readonly contended: number;
  /** Takes that brought no job within their wait. */
  readonly waitTimeouts: number;
  /** Takes whose caller gave up while it waited. */
  readonly cancelled: number;
  /** Deliveries that were acknowledged. */
  readonly acked: number;
  /** Deliveries that were put back, the ones that were let go included. */
  readonly nacked: number;
  /** Of these, the ones whose job was delivered as often as it may be, and is dead. */
  readonly dead: number;
  /** Jobs that were cancelled, purged, or removed from the dead ones. */
  readonly removed: number;
  /** Leases prolonged by the watchdog, one for each delivery and time. */
  readonly renewals: number;
  /** Renewals that got no answer or a passing error, and were tried again while the lease lasted. */
  readonly renewalFailures: number;
  /** Deliveries that were lost, and come again. */
  readonly lost: number;
  /** Callers that wait now. */
  readonly waiting: number;
  /** Deliveries that are looked after now. */
  readonly held: number;
  /** From the call of a take to its delivery, waited or not: as many as `taken`. */
  readonly waitTime: Histogram;
  /** From a delivery to the beginning of its end by its worker. */
  readonly holdTime: Histogram;
  // </api:queue-stats>
}

/** What a client has counted since it was opened: what is its own, and a block for each kind of object. */
export interface Stats {
  // <api:stats> written by `python3 api/write.py` from api/records.json
  /** Requests sent again because no answer came. */
  readonly retries: number;
  /** What its locks have counted. */
  readonly lock: LockStats;
  /** What its rate limiters have counted. */
  readonly limiter: LimiterStats;
  /** What its semaphores have counted. */
  readonly semaphore: SemaphoreStats;
  /** What its read-write locks have counted. */
  readonly rwLock: RwLockStats;
  /** What its counting semaphores have counted. */
  readonly countingSemaphore: CountingSemaphoreStats;
  /** What its latches have counted. */
  readonly latch: LatchStats;
  /** What its worker numbers have counted. */
  readonly worker: WorkerStats;
  /** What its queues have counted. */
  readonly queue: QueueStats;
  // </api:stats>
}
