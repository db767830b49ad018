package org.libdlock;

import java.util.concurrent.CompletableFuture;
import org.libdlock.internal.Native;
import org.libdlock.internal.Threads;

/**
 * A generator of ids of one name, made by {@link Client#idGenerator(String)}: numbers that the server counts, each given out once among all
 * processes, Redisson's {@code RIdGenerator} included. May be shared between threads.
 *
 * <p>A process takes a block of them at a time and hands them out without asking the server; the next block is fetched when a fifth is left.
 * What a process has of a block is lost when its client is closed, when its last generator of the name goes, and when it ends: there are
 * gaps.
 *
 * <pre>{@code
 * IdGenerator orders = client.idGenerator("orders");
 * long order = orders.nextId();
 * long[] lines = orders.nextIds(100);
 * }</pre>
 */
public final class IdGenerator {
    /** How many ids a block has if nobody says otherwise, as Redisson's. */
    public static final long DEFAULT_BLOCK = 5_000;

    private final String name;
    private final NativeObject inner;

    IdGenerator(Client client, String name, long handle) {
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
     * How many ids a block has. Costs no I/O.
     *
     * @return what the server said with the last block that this client took, and what was asked for before the first
     */
    public long blockSize() {
        return inner.ask(Native::idGeneratorBlockSize);
    }

    /**
     * The next id, mostly without asking the server.
     *
     * @return a number that nobody else was or will be given
     * @throws ConnectionException when none is left and the server did not answer within {@code operation_timeout}: the call may be
     *     repeated
     * @throws UnsupportedException when the ids are used up, at 2<sup>63</sup> - 1
     * @throws WrongTypeException when one of the keys holds something else
     * @throws ClosedException when the client is closed
     */
    public long nextId() {
        // A virtual thread must not hold its carrier up, should it have to wait.
        return Threads.mayBlock()
                ? inner.ask(Native::idGeneratorNextIdBlocking)
                : inner.call(Native::idGeneratorNextId, Long.class);
    }

    /**
     * The next ids, in increasing order, not always without gaps.
     *
     * @param count 1 to 1,000,000
     * @return so many
     * @throws InvalidArgumentException for any other number; else as {@link #nextId()}
     */
    public long[] nextIds(int count) {
        return Threads.mayBlock()
                ? inner.ask(of -> Native.idGeneratorNextIdsBlocking(of, count))
                : inner.call((port, id, of) -> Native.idGeneratorNextIds(port, id, of, count), long[].class);
    }

    /**
     * As {@link #nextId()}, without holding up the calling thread.
     *
     * @return the id; cancelling the future may leave a gap
     */
    public CompletableFuture<Long> nextIdAsync() {
        return inner.start(Native::idGeneratorNextId, Replies.to(Long.class));
    }

    /**
     * As {@link #nextIds(int)}, without holding up the calling thread.
     *
     * @param count 1 to 1,000,000
     * @return the ids; cancelling the future may leave a gap
     */
    public CompletableFuture<long[]> nextIdsAsync(int count) {
        return inner.start((port, id, of) -> Native.idGeneratorNextIds(port, id, of, count), Replies.to(long[].class));
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "IdGenerator[" + name + "]";
    }
}
