package org.libdlock;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Judged;
import org.libdlock.internal.Native;
import org.libdlock.internal.NativeWait;
import org.libdlock.internal.Port;
import org.libdlock.internal.Reclaimer;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * A rate limit of one name, made by {@link Client#rateLimiter(String, Rate)} and shared by all that any process makes of that name. May be
 * shared between threads.
 *
 * <p>It is judged by the server's clock. A decision is never asked for twice: one whose reply was lost throws
 * {@link OutcomeUnknownException} and counts as spent.
 */
public class RateLimiter {
    private final Client client;
    private final String name;
    private final long handle;
    private final List<Rate> rates;

    /** The one whose handle it is, if this is a key of that. */
    private final @Nullable RateLimiter whole;

    private final byte @Nullable [] key;

    /** Whether a call may be decided without the server. */
    private final boolean prefetches;

    RateLimiter(Client client, String name, long handle, List<Rate> rates, boolean prefetches) {
        this.client = client;
        this.name = name;
        this.handle = handle;
        this.rates = rates;
        this.prefetches = prefetches;
        whole = null;
        key = null;
        Reclaimer.register(this, () -> Native.free(handle));
    }

    private RateLimiter(RateLimiter of, String key) {
        client = of.client;
        name = of.name + ":" + key;
        handle = of.handle;
        prefetches = false;
        rates = of.rates;
        whole = of.whole == null ? of : of.whole;
        this.key = Arguments.keyBytes(name.substring(whole.name.length() + 1));
    }

    /**
     * The limiter of one key of many, such as a user's id: a bucket of its own with the same rate and policy, under the name
     * {@code NAME:KEY}. Cheap, and meant to be made for each call: nothing is kept of a key that nobody waits for, so there may be
     * millions of them.
     *
     * @param key what makes a name together with this one; each call checks it
     * @return the limiter of the key, whose calls throw {@link InvalidNameException} for a key that is empty, too long, or holds NUL
     *     or odd braces
     */
    public RateLimiter keyed(String key) {
        Arguments.notNull(key, "key");
        return new RateLimiter(this, key);
    }

    /**
     * The name.
     *
     * @return without the client's key prefix
     */
    public String name() {
        return name;
    }

    /**
     * What it lets through.
     *
     * @return one rate or several, as they were given here
     */
    public List<Rate> rates() {
        return rates;
    }

    /**
     * Takes one token if it is there now.
     *
     * @return the decision; a refusal is no exception
     */
    public Decision tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Takes tokens if they are there now. Does not wait, and is refused while others wait.
     *
     * @param cost 0 (asks how things stand for one token, and never waits) or more
     * @return the decision; a refusal is no exception, also for a cost above the burst, which can never be granted: its
     *     {@code retryAfter} is {@code null}
     */
    public Decision tryAcquire(long cost) {
        Decision atOnce = prefetches ? atOnce(cost) : null;
        if (atOnce != null) {
            return atOnce;
        }
        if (!Threads.mayBlock()) {
            return Decision.of(call((port, id) -> Native.limiterAcquire(port, id, handle, cost, 0, key)));
        }
        long[] numbers = new long[Judged.NUMBERS];
        return Decision.of(Judged.of(acquireBlocking(cost, 0, 0, numbers), numbers));
    }

    /**
     * Takes one token, waiting for it as long as it takes.
     *
     * @return the decision
     * @throws InterruptedException as {@link #acquire(long, Duration)}
     */
    public Decision acquire() throws InterruptedException {
        return acquire(1, null);
    }

    /**
     * Takes tokens, waiting for them. All that wait, in all processes, are served in the order in which their requests reach the
     * server; a wait that cannot be long enough is refused at once.
     *
     * @param cost as for {@link #tryAcquire(long)}; one that can never be granted is refused at once
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return the decision; a refusal is no exception
     * @throws InterruptedException when interrupted before or while waiting; the tokens may have been spent just then
     */
    public Decision acquire(long cost, @Nullable Duration wait) throws InterruptedException {
        long millis = Arguments.waitMillis(wait);
        if (Threads.mayBlock()) {
            long[] numbers = new long[Judged.NUMBERS];
            boolean allowed = NativeWait.interruptibly(cancel -> acquireBlocking(cost, millis, cancel, numbers));
            return Decision.of(Judged.of(allowed, numbers));
        }
        try {
            return Decision.of(client.port()
                    .callInterruptibly((port, id) -> Native.limiterAcquire(port, id, handle, cost, millis, key)));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * As {@link #acquire(long, Duration)}, without holding up the calling thread.
     *
     * @param cost as for {@link #tryAcquire(long)}; one that can never be granted is refused at once
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return the decision; cancelling the future gives up the place in the line, and may have spent the tokens just then
     */
    public CompletableFuture<Decision> acquireAsync(long cost, @Nullable Duration wait) {
        long millis = Arguments.waitMillis(wait);
        try {
            Port.Submit call = (port, id) -> Native.limiterAcquire(port, id, handle, cost, millis, key);
            return client.port().startWaiting(call, Decision::of, spent -> {});
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * As {@link #tryAcquire(long)}, without holding up the calling thread.
     *
     * @param cost as for {@link #tryAcquire(long)}
     * @return the decision
     */
    public CompletableFuture<Decision> tryAcquireAsync(long cost) {
        Decision atOnce = prefetches ? atOnce(cost) : null;
        return atOnce == null ? acquireAsync(cost, Duration.ZERO) : CompletableFuture.completedFuture(atOnce);
    }

    /**
     * Takes tokens of several {@linkplain #keyed keys}, with a cost for each, in one round trip for every 256 of them. What is wrong
     * with one, such as a key of 10 kB or a cost below 0, is its own answer, an {@link Undecided}, and no matter of the others.
     * When a reply was lost, each item of that write has an {@link OutcomeUnknownException}.
     *
     * @param items 1 to 10,000; a key may occur several times
     * @return an answer for each, in the same order
     * @throws InvalidArgumentException for a batch that is empty or too large
     */
    public List<Answer> tryAcquireMany(List<KeyedCost> items) {
        return answers(call(manyOf(items)));
    }

    /**
     * As {@link #tryAcquireMany}, without holding up the calling thread.
     *
     * @param items 1 to 10,000; a key may occur several times
     * @return an answer for each, in the same order
     */
    public CompletableFuture<List<Answer>> tryAcquireManyAsync(List<KeyedCost> items) {
        try {
            return client.port().startWaiting(manyOf(items), RateLimiter::answers, spent -> {});
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Port.Submit manyOf(List<KeyedCost> items) {
        Arguments.notNull(items, "items");
        List<byte[]> keys = new ArrayList<>(items.size());
        long[] costs = new long[items.size()];
        for (KeyedCost item : items) {
            Arguments.notNull(item, "item");
            Arguments.notNull(item.key(), "key");
            costs[keys.size()] = item.cost();
            // The keys of a key have that before them.
            String prefix = whole == null ? "" : name.substring(whole.name.length() + 1) + ":";
            keys.add(Arguments.keyBytes(item.key().isEmpty() ? "" : prefix + item.key()));
        }
        byte[] packed = Wire.pack(keys);
        return (port, id) -> Native.limiterAcquireMany(port, id, handle, packed, costs);
    }

    private static List<Answer> answers(Object reply) {
        List<Answer> answers = new ArrayList<>();
        for (Object each : Replies.of(reply, Object[].class)) {
            answers.add(each instanceof Failure failed ? new Undecided(Errors.of(failed)) : Decision.of(each));
        }
        return answers;
    }

    /**
     * How things stand for one token, without spending any.
     *
     * @return the decision
     */
    public Decision peek() {
        return tryAcquire(0);
    }

    /**
     * Takes tokens now, for use when they are there: {@code usableAfter} of the decision says how long that is. Refused when it would be
     * longer than {@code wait}. Nothing waits here; the caller keeps to that time, and gives back with {@link #reward} what is not wanted
     * after all.
     *
     * @param cost as for {@link #tryAcquire(long)}
     * @param wait the longest time until they may be used: zero or less for now, {@code null} for any
     * @return the decision; a refusal is no exception
     * @throws InvalidArgumentException for {@link Algorithm#REDISSON}, which has no reservations
     */
    public Decision reserve(long cost, @Nullable Duration wait) {
        return Decision.of(call(reserving(cost, wait)));
    }

    /**
     * As {@link #reserve(long, Duration)}, without holding up the calling thread.
     *
     * @param cost as for {@link #tryAcquire(long)}
     * @param wait as for {@link #reserve(long, Duration)}
     * @return the decision; cancelling the future may have taken the tokens
     */
    public CompletableFuture<Decision> reserveAsync(long cost, @Nullable Duration wait) {
        try {
            return client.port().start(reserving(cost, wait), Decision::of, taken -> {});
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Port.Submit reserving(long cost, @Nullable Duration wait) {
        long millis = Arguments.waitMillis(wait);
        return (port, id) -> Native.limiterReserve(port, id, handle, cost, millis, key);
    }

    /**
     * Takes tokens whether or not they are there: who comes next waits the longer for it. For a request that turned out to cost more than
     * it was let in for. Always asks the server: no policy for an absent one applies.
     *
     * @param tokens 1 to the burst
     * @throws InvalidArgumentException for any other number, and for {@link Algorithm#REDISSON}
     */
    public void penalty(long tokens) {
        Replies.check(call((port, id) -> Native.limiterPenalty(port, id, handle, tokens, key)));
    }

    /**
     * As {@link #penalty(long)}, without holding up the calling thread.
     *
     * @param tokens 1 to the burst
     * @return completes when it is done; cancelling the future may leave it done or not
     */
    public CompletableFuture<@Nullable Void> penaltyAsync(long tokens) {
        return start((port, id) -> Native.limiterPenalty(port, id, handle, tokens, key));
    }

    /**
     * Gives tokens back as if they had not been taken: never more than were. For a request that turned out to cost less, or that failed.
     * Those that wait already keep their times.
     *
     * @param tokens 1 to the burst
     * @throws InvalidArgumentException as {@link #penalty(long)}
     */
    public void reward(long tokens) {
        Replies.check(call((port, id) -> Native.limiterReward(port, id, handle, tokens, key)));
    }

    /**
     * As {@link #reward(long)}, without holding up the calling thread.
     *
     * @param tokens 1 to the burst
     * @return completes when it is done; cancelling the future may leave it done or not
     */
    public CompletableFuture<@Nullable Void> rewardAsync(long tokens) {
        return start((port, id) -> Native.limiterReward(port, id, handle, tokens, key));
    }

    /**
     * Refuses everybody for so long from now on, whatever the rates would allow. The last call counts. Those that wait get their tokens
     * after it; those that have reserved keep their times. What other clients have fetched ahead can be used for another second at most.
     *
     * @param length up to 100 years; zero ends a block, and a part of a millisecond counts as one
     * @throws InvalidArgumentException for a longer or a negative time, and for {@link Algorithm#REDISSON}
     */
    public void block(Duration length) {
        Replies.check(call(blocking(length)));
    }

    /**
     * As {@link #block(Duration)}, without holding up the calling thread.
     *
     * @param length as for {@link #block(Duration)}
     * @return completes when it is done; cancelling the future may leave it done or not
     */
    public CompletableFuture<@Nullable Void> blockAsync(Duration length) {
        return start(blocking(length));
    }

    private Port.Submit blocking(Duration length) {
        Arguments.notNull(length, "length");
        long millis = Arguments.millis(length);
        return (port, id) -> Native.limiterBlock(port, id, handle, millis, key);
    }

    /** Forgets what was taken, and a block, for everybody: for operators and tests. */
    public void reset() {
        Replies.check(call((port, id) -> Native.limiterReset(port, id, handle, key)));
    }

    /** The decision, if the tokens that were fetched ahead allow one without the server. */
    private @Nullable Decision atOnce(long cost) {
        long[] numbers = new long[Judged.NUMBERS];
        try {
            int answer = Native.limiterTryAcquireNow(handle, cost, numbers);
            return answer == 0 ? null : Decision.of(Judged.of(answer == 2, numbers));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private boolean acquireBlocking(long cost, long waitMillis, long cancel, long[] numbers) {
        try {
            return Native.limiterAcquireBlocking(handle, cost, waitMillis, key, cancel, numbers);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private CompletableFuture<@Nullable Void> start(Port.Submit call) {
        try {
            return client.port().<@Nullable Void>start(call, Replies.NOTHING, done -> {});
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Object call(Port.Submit call) {
        try {
            return client.port().call(call);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "RateLimiter[" + name + "]";
    }
}
