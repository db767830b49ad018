package org.libdlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Native;

/**
 * A count-down latch of one name among all processes, made by {@link Client#latch(String)}, with the verbs of
 * {@link java.util.concurrent.CountDownLatch}: callers wait until a count has come down to zero. May be shared between threads.
 *
 * <p>A latch that is not on the server is open. So {@link #trySetCount} comes before those that wait, and before those that count down:
 *
 * <pre>{@code
 * DistributedCountDownLatch ready = client.latch("deploy-7/ready");
 * ready.trySetCount(2);
 * ready.countDown();                                // in each of two processes
 * ready.await();                                    // in all that wait for them
 * }</pre>
 *
 * <p>It is for one round. A latch that is set again before all waiters have seen it open keeps the rest waiting for the new count: give each
 * round a name of its own. Nobody holds anything, so there is nothing to release, and no lease: a count stays until it is counted down or
 * {@linkplain #delete() deleted}.
 */
public final class DistributedCountDownLatch {
    private static final Opening FOR_EVER = new Opening(Arguments.NOT_GIVEN);

    private final String name;
    private final NativeObject inner;

    DistributedCountDownLatch(Client client, String name, long handle) {
        this.name = name;
        this.inner = new NativeObject(client, handle);
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
     * Gives the latch this count if it is open.
     *
     * @param count 1 to 2<sup>53</sup> - 1
     * @return false, and nothing has changed, when it has a count
     * @throws InvalidArgumentException for any other number
     * @throws WrongTypeException when the key holds something else
     * @throws OutcomeUnknownException when no reply came: it may be done or not
     */
    public boolean trySetCount(long count) {
        return inner.call((port, id, latch) -> Native.latchTrySetCount(port, id, latch, count), Boolean.class);
    }

    /**
     * Counts down by one. Anybody may; a latch that is open stays so. It counts once, also when the reply is lost and the request is sent
     * again.
     *
     * @throws WrongTypeException when the key holds something else
     * @throws OutcomeUnknownException when no reply came: it may be counted or not
     */
    public void countDown() {
        countDown(1);
    }

    /**
     * Counts down by so many, or by what is left if that is less.
     *
     * @param by 1 to 2<sup>53</sup> - 1
     * @return what is left then, 0 when the latch is open
     * @throws InvalidArgumentException for any other number
     * @throws WrongTypeException when the key holds something else
     * @throws OutcomeUnknownException when no reply came: it may be counted or not
     */
    public long countDown(long by) {
        return inner.call((port, id, latch) -> Native.latchCountDown(port, id, latch, by), Long.class);
    }

    /**
     * The count, as the server says now.
     *
     * @return 0 when the latch is open
     * @throws WrongTypeException when the key holds something else
     */
    public long getCount() {
        return inner.call(Native::latchCount, Long.class);
    }

    /**
     * Waits until the latch is open, as long as it takes.
     *
     * @throws InterruptedException when interrupted before or while waiting; the latch is as it was
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    public void await() throws InterruptedException {
        inner.awaitInterruptibly(FOR_EVER);
    }

    /**
     * Waits until the latch is open, within a time.
     *
     * @param timeout zero or less asks once; {@link Long#MAX_VALUE} is for ever
     * @param unit the unit of {@code timeout}
     * @return false when it was not open in that time
     * @throws InterruptedException when interrupted before or while waiting; the latch is as it was
     * @throws ConnectionException when the server did not answer within a wait of 100 ms or more
     * @throws ClosedException when the client is closed
     */
    public boolean await(long timeout, TimeUnit unit) throws InterruptedException {
        Arguments.notNull(unit, "unit");
        return inner.awaitInterruptibly(new Opening(Arguments.waitMillis(timeout, unit)));
    }

    /**
     * Waits until the latch is open, within a time.
     *
     * @param wait zero or less asks once; {@code null} waits for ever
     * @return false when it was not open in that time
     * @throws InterruptedException when interrupted before or while waiting; the latch is as it was
     */
    public boolean await(@Nullable Duration wait) throws InterruptedException {
        return inner.awaitInterruptibly(new Opening(Arguments.waitMillis(wait)));
    }

    /**
     * Removes the latch: it is open then. This wakes nobody at once; whoever waits finds it open within {@code poll_interval}.
     *
     * @return false when it was not there
     * @throws WrongTypeException when the key holds something else
     * @throws OutcomeUnknownException when no reply came: it may be done or not
     */
    public boolean delete() {
        return inner.call(Native::latchDelete, Boolean.class);
    }

    /**
     * As {@link #await()}, without holding up the calling thread.
     *
     * @return completes when the latch is open; cancelling the future ends the wait, and so does a {@code get} that times out or is
     *     interrupted
     */
    public CompletableFuture<@Nullable Void> awaitAsync() {
        return inner.<@Nullable Void>startWaiting(FOR_EVER, Replies.NOTHING, opened -> {});
    }

    /**
     * As {@link #await(Duration)}, without holding up the calling thread.
     *
     * @param wait zero or less asks once; {@code null} waits for ever
     * @return false when it was not open in that time; cancelling as for {@link #awaitAsync()}
     */
    public CompletableFuture<Boolean> awaitAsync(@Nullable Duration wait) {
        Opening opening = new Opening(Arguments.waitMillis(wait));
        return inner.startWaiting(opening, opening::answer, opened -> {});
    }

    /**
     * As {@link #countDown()}, without holding up the calling thread.
     *
     * @return what is left then, 0 when the latch is open; cancelling the future may leave it counted or not
     */
    public CompletableFuture<Long> countDownAsync() {
        return countDownAsync(1);
    }

    /**
     * As {@link #countDown(long)}, without holding up the calling thread.
     *
     * @param by 1 to 2<sup>53</sup> - 1
     * @return what is left then, 0 when the latch is open; cancelling the future may leave it counted or not
     */
    public CompletableFuture<Long> countDownAsync(long by) {
        return inner.start((port, id, latch) -> Native.latchCountDown(port, id, latch, by), Replies.to(Long.class));
    }

    /**
     * As {@link #getCount()}, without holding up the calling thread.
     *
     * @return 0 when the latch is open
     */
    public CompletableFuture<Long> getCountAsync() {
        return inner.start(Native::latchCount, Replies.to(Long.class));
    }

    /**
     * As {@link #trySetCount(long)}, without holding up the calling thread.
     *
     * @param count 1 to 2<sup>53</sup> - 1
     * @return false when it has a count; cancelling the future may leave it done or not
     */
    public CompletableFuture<Boolean> trySetCountAsync(long count) {
        return inner.start(
                (port, id, latch) -> Native.latchTrySetCount(port, id, latch, count), Replies.to(Boolean.class));
    }

    /**
     * As {@link #delete()}, without holding up the calling thread.
     *
     * @return false when it was not there; cancelling the future may leave it done or not
     */
    public CompletableFuture<Boolean> deleteAsync() {
        return inner.start(Native::latchDelete, Replies.to(Boolean.class));
    }

    /** A wait for the latch; {@link Arguments#NOT_GIVEN} is for ever. */
    private record Opening(long waitMillis) implements NativeObject.Waiting {
        @Override
        public long submit(long port, long id, long of) {
            return Native.latchWait(port, id, of, waitMillis);
        }

        @Override
        public boolean block(long of, long cancel) {
            return Native.latchWaitBlocking(of, waitMillis, cancel);
        }

        @Override
        public boolean answer(Object reply) {
            return Replies.of(reply, Boolean.class);
        }
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedCountDownLatch[" + name + "]";
    }
}
