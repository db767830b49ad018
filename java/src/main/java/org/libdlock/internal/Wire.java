package org.libdlock.internal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.libdlock.CountingSemaphoreInspection;
import org.libdlock.PutResult;
import org.libdlock.QueueCounts;

/** What crosses as bytes; {@code java/native/src/wire.rs} is the other end and says how they are laid out. */
public final class Wire {
    // <api:tags> written by `python3 api/write.py` from api/wire.json
    /** Nothing but that it is done. */
    private static final byte UNIT = 0;

    /** A flag. */
    private static final byte BOOL = 1;

    /** A new hold: its handle, token and owner. */
    private static final byte HELD = 2;

    /** A text. */
    private static final byte TEXT = 3;

    /** Why a hold ended; no text when it was released. */
    private static final byte LOSS = 4;

    /** What the server said about a lock. */
    private static final byte INSPECTION = 5;

    /** A handle. */
    private static final byte HANDLE = 6;

    /** An error. */
    private static final byte FAILURE = 7;

    /** A log event, which is no completion. */
    private static final byte LOG = 8;

    /** A limiter's answer. */
    private static final byte DECISION = 9;

    /** What the server said about a semaphore. */
    private static final byte SEMAPHORE_INSPECTION = 10;

    /** What the server said about a read-write lock. */
    private static final byte RW_LOCK_INSPECTION = 11;

    /** A whole number. */
    private static final byte NUMBER = 12;

    /** What the server said about a counting semaphore. */
    private static final byte COUNTING_SEMAPHORE_INSPECTION = 13;

    /** A limiter's answers to a batch: how many, then each as its own completion. */
    private static final byte DECISIONS = 14;

    /** Ids: how many, and each. */
    private static final byte IDS = 15;

    /** Yes or no of each item: how many, and each. */
    private static final byte FLAGS = 16;

    /** A number with a fraction: its bits. */
    private static final byte REAL = 17;

    /** What a put of jobs has done: how many, then the id of each and whether it is new. */
    private static final byte PUTS = 18;

    /** Jobs that were delivered: how many, then the hold and the job of each. */
    private static final byte DELIVERIES = 19;

    /** How many jobs a queue has. */
    private static final byte QUEUE_COUNTS = 20;

    /** Jobs that wait in a queue or are dead: how many, and each. */
    private static final byte LISTED_JOBS = 21;

    // </api:tags>

    /** What an operation brings that has nothing to say but that it is done. */
    public static final Object DONE = new Object();

    /** Brought by the wait for a loss when the hold was released instead. */
    public static final Object NOT_LOST = new Object();

    private Wire() {}

    /** Receives what a batch holds. */
    interface Sink {
        void completed(long id, Object reply);

        void logged(String level, @Nullable String object, String message);
    }

    /** Goes through a batch. */
    static final class Reader {
        private final byte[] batch;
        private final ByteBuffer bytes;

        Reader(byte[] batch) {
            this.batch = batch;
            bytes = ByteBuffer.wrap(batch);
        }

        boolean hasMore() {
            return bytes.hasRemaining();
        }

        /** Reads one; should that fail, the next call reads the same. */
        void next(Sink sink) {
            bytes.mark();
            boolean read = false;
            try {
                long id = bytes.getLong();
                byte what = bytes.get();
                if (what == LOG) {
                    sink.logged(text(), optionalText(), text());
                } else {
                    sink.completed(id, reply(what));
                }
                read = true;
            } finally {
                if (!read) {
                    bytes.reset();
                }
            }
        }

        private Object reply(byte what) {
            return switch (what) {
                case UNIT -> DONE;
                // <api:scalars> written by `python3 api/write.py` from api/wire.json
                case BOOL -> flag();
                case NUMBER -> bytes.getLong();
                case TEXT -> text();
                // </api:scalars>
                case HELD -> new Hold(bytes.getLong(), bytes.getLong(), text());
                case LOSS -> {
                    String reason = optionalText();
                    yield reason == null ? NOT_LOST : reason;
                }
                case INSPECTION -> new Seen(optionalText(), flag(), bytes.getLong(), bytes.getLong(), bytes.getLong());
                case SEMAPHORE_INSPECTION -> new SeenPermits(bytes.getLong(), bytes.getLong(), bytes.getLong());
                case RW_LOCK_INSPECTION ->
                    new SeenSides(
                            optionalText(), flag(), bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong());
                case COUNTING_SEMAPHORE_INSPECTION ->
                    new CountingSemaphoreInspection(flag(), bytes.getLong(), bytes.getLong());
                case HANDLE -> bytes.getLong();
                case IDS -> ids();
                case FLAGS -> flags();
                case REAL -> bytes.getDouble();

                case PUTS -> many(PutResult[]::new, () -> new PutResult(text(), flag()));
                case DELIVERIES -> many(Delivered[]::new, this::delivered);
                case QUEUE_COUNTS ->
                    new QueueCounts(
                            bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong());
                case LISTED_JOBS -> many(Listed[]::new, this::listed);
                case FAILURE -> failure();
                case DECISION ->
                    new Judged(
                            flag(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong());
                case DECISIONS -> {
                    Object[] answers = new Object[Math.toIntExact(bytes.getLong())];
                    for (int at = 0; at < answers.length; at++) {
                        answers[at] = reply(bytes.get());
                    }
                    yield answers;
                }
                default ->
                    throw new IllegalStateException("the native library is another version's: completion " + what);
            };
        }

        private long[] ids() {
            long[] ids = new long[bytes.getInt()];
            bytes.asLongBuffer().get(ids);
            bytes.position(bytes.position() + ids.length * Long.BYTES);
            return ids;
        }

        private boolean[] flags() {
            boolean[] flags = new boolean[bytes.getInt()];
            for (int at = 0; at < flags.length; at++) {
                flags[at] = flag();
            }
            return flags;
        }

        private <T> T[] many(IntFunction<T[]> array, Supplier<T> next) {
            T[] all = array.apply(bytes.getInt());
            for (int at = 0; at < all.length; at++) {
                all[at] = next.get();
            }
            return all;
        }

        private Delivered delivered() {
            Hold hold = new Hold(bytes.getLong(), bytes.getLong(), "");
            return new Delivered(
                    hold,
                    payload(),
                    text(),
                    Math.toIntExact(bytes.getLong()),
                    bytes.getLong(),
                    Math.toIntExact(bytes.getLong()));
        }

        private Listed listed() {
            return new Listed(text(), payload(), bytes.getLong(), bytes.getLong(), bytes.getLong(), optionalText());
        }

        private byte[] payload() {
            byte[] payload = new byte[bytes.getInt()];
            bytes.get(payload);
            return payload;
        }

        private Failure failure() {
            return new Failure(
                    bytes.getInt(),
                    text(),
                    optionalText(),
                    text(),
                    optionalText(),
                    bytes.getLong(),
                    bytes.getLong(),
                    optionalText(),
                    flag());
        }

        private boolean flag() {
            return bytes.get() != 0;
        }

        private String text() {
            String text = optionalText();
            return text == null ? "" : text;
        }

        private @Nullable String optionalText() {
            int length = bytes.getInt();
            if (length < 0) {
                return null;
            }
            int at = bytes.position();
            bytes.position(at + length);
            return new String(batch, at, length, StandardCharsets.UTF_8);
        }
    }

    /**
     * Reads what a call brought that is not completed through a port.
     *
     * @param bytes what a completion carries
     * @return as of a completion
     */
    public static Object answer(byte[] bytes) {
        Reader reader = new Reader(bytes);
        return reader.reply(reader.bytes.get());
    }

    /**
     * Reads the failure of a call that is not completed through a port.
     *
     * @param bytes what a failed completion carries
     * @return the failure
     */
    public static Failure failure(byte[] bytes) {
        return new Reader(bytes).failure();
    }

    /**
     * Packs texts that are UTF-8 already.
     *
     * @param texts any number of texts
     * @return their bytes, each with its length before it
     */
    public static byte[] pack(List<byte[]> texts) {
        int length = 0;
        for (byte[] text : texts) {
            length += 4 + text.length;
        }
        byte[] packed = new byte[length];
        ByteBuffer bytes = ByteBuffer.wrap(packed);
        for (byte[] text : texts) {
            bytes.putInt(text.length).put(text);
        }
        return packed;
    }
}
