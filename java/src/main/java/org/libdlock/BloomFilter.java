package org.libdlock;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.libdlock.internal.Native;

/**
 * A Bloom filter of one name, made by {@link Client#bloomFilter(String, long, double)}: Redisson's {@code RBloomFilter}, bit for bit, with its
 * {@code StringCodec} or {@code ByteArrayCodec}. May be shared between threads.
 *
 * <p>It is made on the server when the first item is added. From then on a filter of another size or with other hashes is refused with a
 * {@link WrongTypeException} that shows both, until it is cleared. One that is not on the server contains nothing. An item is bytes, or a
 * string, which counts as its UTF-8.
 *
 * <pre>{@code
 * BloomFilter users = client.bloomFilter("users", 1_000_000, 0.01);
 * users.addEach(List.of("ada", "grace"));
 * if (users.contains("ada")) { ... }
 * }</pre>
 */
public final class BloomFilter {
    private static final String OP = "bloom filter";

    private final String name;
    private final NativeObject inner;

    BloomFilter(Client client, String name, long handle) {
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
     * How many bits the filter has. Costs no I/O.
     *
     * @return eight times its bytes on the server
     */
    public long size() {
        return inner.ask(Native::bloomFilterSize);
    }

    /**
     * How many bits an item has. Costs no I/O.
     *
     * @return the number of hashes
     */
    public int hashes() {
        return Math.toIntExact(inner.ask(Native::bloomFilterHashes));
    }

    /**
     * Adds an item.
     *
     * @param item a text
     * @return whether it is new; false may be a false positive
     * @throws OutcomeUnknownException when a reply was lost and it is unknown whether it was new
     * @throws WrongTypeException when the filter on the server has another configuration, or the keys hold something else
     * @throws ConnectionException when the server did not answer within {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    public boolean add(String item) {
        return add(List.of(bytes(item)))[0];
    }

    /**
     * As {@link #add(String)}.
     *
     * @param item bytes
     * @return whether it is new
     */
    public boolean add(byte[] item) {
        return add(List.of(bytes(item)))[0];
    }

    /**
     * Adds items. One script adds them all, or one for each 16,384 bits; an exception may leave a part of them added.
     *
     * @param items texts, 1,000,000 at most
     * @return of each whether it is new, else as {@link #add(String)}
     */
    public boolean[] addEach(Collection<String> items) {
        return add(each(items, BloomFilter::bytes));
    }

    /**
     * As {@link #addEach(Collection)}.
     *
     * @param items bytes, 1,000,000 at most
     * @return of each whether it is new
     */
    public boolean[] addEachBytes(Collection<byte[]> items) {
        return add(each(items, BloomFilter::bytes));
    }

    /**
     * As {@link #addEach(Collection)}, without holding up the calling thread.
     *
     * @param items texts, 1,000,000 at most
     * @return of each whether it is new; cancelling the future may leave a part added
     */
    public CompletableFuture<boolean[]> addEachAsync(Collection<String> items) {
        return addAsync(each(items, BloomFilter::bytes));
    }

    /**
     * As {@link #addEachAsync(Collection)}.
     *
     * @param items bytes, 1,000,000 at most
     * @return of each whether it is new
     */
    public CompletableFuture<boolean[]> addEachBytesAsync(Collection<byte[]> items) {
        return addAsync(each(items, BloomFilter::bytes));
    }

    /**
     * Looks for an item.
     *
     * @param item a text
     * @return whether it was added: true may be a false positive, false is certain
     * @throws WrongTypeException when the filter on the server has another configuration, or the keys hold something else
     * @throws ConnectionException when the server did not answer within {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    public boolean contains(String item) {
        return contains(List.of(bytes(item)))[0];
    }

    /**
     * As {@link #contains(String)}.
     *
     * @param item bytes
     * @return whether it was added
     */
    public boolean contains(byte[] item) {
        return contains(List.of(bytes(item)))[0];
    }

    /**
     * Looks for items.
     *
     * @param items texts, 1,000,000 at most
     * @return of each whether it was added, else as {@link #contains(String)}
     */
    public boolean[] containsEach(Collection<String> items) {
        return contains(each(items, BloomFilter::bytes));
    }

    /**
     * As {@link #containsEach(Collection)}.
     *
     * @param items bytes, 1,000,000 at most
     * @return of each whether it was added
     */
    public boolean[] containsEachBytes(Collection<byte[]> items) {
        return contains(each(items, BloomFilter::bytes));
    }

    /**
     * As {@link #containsEach(Collection)}, without holding up the calling thread.
     *
     * @param items texts, 1,000,000 at most
     * @return of each whether it was added
     */
    public CompletableFuture<boolean[]> containsEachAsync(Collection<String> items) {
        return containsAsync(each(items, BloomFilter::bytes));
    }

    /**
     * As {@link #containsEachAsync(Collection)}.
     *
     * @param items bytes, 1,000,000 at most
     * @return of each whether it was added
     */
    public CompletableFuture<boolean[]> containsEachBytesAsync(Collection<byte[]> items) {
        return containsAsync(each(items, BloomFilter::bytes));
    }

    /**
     * How many different items were added, as the bits that are set let expect. The server counts all bits: 50 ms for a filter of 512 MiB.
     *
     * @return an estimate; 2<sup>53</sup> - 1 when all bits are set
     */
    public long count() {
        return inner.call(Native::bloomFilterCount, Long.class);
    }

    /**
     * As {@link #count()}, without holding up the calling thread.
     *
     * @return the estimate
     */
    public CompletableFuture<Long> countAsync() {
        return inner.start(Native::bloomFilterCount, Replies.to(Long.class));
    }

    /**
     * The rate of false positives now. The server counts all bits, as for {@link #count()}.
     *
     * @return from 0 of an empty filter to 1 of a full one
     */
    public double falsePositiveRate() {
        return inner.call(Native::bloomFilterFalsePositiveRate, Double.class);
    }

    /**
     * As {@link #falsePositiveRate()}, without holding up the calling thread.
     *
     * @return the rate
     */
    public CompletableFuture<Double> falsePositiveRateAsync() {
        return inner.start(Native::bloomFilterFalsePositiveRate, Replies.to(Double.class));
    }

    /**
     * Removes the filter, whatever configuration it has.
     *
     * @return false when it was not there
     */
    public boolean clear() {
        return inner.call(Native::bloomFilterClear, Boolean.class);
    }

    /**
     * As {@link #clear()}, without holding up the calling thread.
     *
     * @return false when it was not there; cancelling the future may leave it done or not done
     */
    public CompletableFuture<Boolean> clearAsync() {
        return inner.start(Native::bloomFilterClear, Replies.to(Boolean.class));
    }

    private boolean[] add(List<byte[]> items) {
        byte[] packed = Arguments.packed(items, OP);
        return inner.call((port, id, of) -> Native.bloomFilterAdd(port, id, of, packed), boolean[].class);
    }

    private CompletableFuture<boolean[]> addAsync(List<byte[]> items) {
        byte[] packed = Arguments.packed(items, OP);
        return inner.start((port, id, of) -> Native.bloomFilterAdd(port, id, of, packed), Replies.to(boolean[].class));
    }

    private boolean[] contains(List<byte[]> items) {
        byte[] packed = Arguments.packed(items, OP);
        return inner.call((port, id, of) -> Native.bloomFilterContains(port, id, of, packed), boolean[].class);
    }

    private CompletableFuture<boolean[]> containsAsync(List<byte[]> items) {
        byte[] packed = Arguments.packed(items, OP);
        return inner.start(
                (port, id, of) -> Native.bloomFilterContains(port, id, of, packed), Replies.to(boolean[].class));
    }

    private static <T> List<byte[]> each(Collection<T> items, Function<T, byte[]> bytes) {
        Arguments.notNull(items, "items");
        List<byte[]> all = new ArrayList<>(items.size());
        items.forEach(item -> all.add(bytes.apply(item)));
        return all;
    }

    private static byte[] bytes(String item) {
        Arguments.notNull(item, "item");
        return Arguments.textBytes(item, "item", OP);
    }

    private static byte[] bytes(byte[] item) {
        Arguments.notNull(item, "item");
        return item;
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "BloomFilter[" + name + "]";
    }
}
