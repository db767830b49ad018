package org.libdlock.internal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What crosses as bytes; {@code java/native/src/wire.rs} is the other end and says how they are laid out. */
public final class Wire {
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
                if (what == 8) {
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
                case 0 -> DONE;
                case 1 -> flag();
                case 2 -> new Hold(bytes.getLong(), bytes.getLong(), text());
                case 3 -> text();
                case 4 -> {
                    String reason = optionalText();
                    yield reason == null ? NOT_LOST : reason;
                }
                case 5 -> new Seen(optionalText(), flag(), bytes.getLong(), bytes.getLong(), bytes.getLong());
                case 6 -> bytes.getLong();
                case 7 -> new Failure(bytes.getInt(), text(), optionalText(), text());
                case 9 ->
                    new Judged(
                            flag(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong(),
                            bytes.getLong());
                default ->
                    throw new IllegalStateException("the native library is another version's: completion " + what);
            };
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
