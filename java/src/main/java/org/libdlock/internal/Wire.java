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
        private final ByteBuffer bytes;

        Reader(byte[] batch) {
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
                    sink.logged(required(text(bytes)), text(bytes), required(text(bytes)));
                } else {
                    sink.completed(id, reply(what, bytes));
                }
                read = true;
            } finally {
                if (!read) {
                    bytes.reset();
                }
            }
        }
    }

    private static Object reply(byte what, ByteBuffer bytes) {
        return switch (what) {
            case 0 -> DONE;
            case 1 -> bytes.get() != 0;
            case 2 -> new Hold(bytes.getLong(), bytes.getLong(), required(text(bytes)));
            case 3 -> required(text(bytes));
            case 4 -> {
                String reason = text(bytes);
                yield reason == null ? NOT_LOST : reason;
            }
            case 5 -> new Seen(text(bytes), bytes.get() != 0, bytes.getLong(), bytes.getLong());
            case 6 -> bytes.getLong();
            case 7 -> new Failure(bytes.getInt(), required(text(bytes)), text(bytes), required(text(bytes)));
            case 9 -> new Judged(
                    bytes.get() != 0,
                    bytes.getLong(),
                    bytes.getLong(),
                    bytes.getLong(),
                    bytes.getLong(),
                    bytes.getLong(),
                    bytes.getLong());
            default -> throw new IllegalStateException("the native library is of another version: completion " + what);
        };
    }

    private static @Nullable String text(ByteBuffer bytes) {
        int length = bytes.getInt();
        if (length < 0) {
            return null;
        }
        String text = new String(bytes.array(), bytes.position(), length, StandardCharsets.UTF_8);
        bytes.position(bytes.position() + length);
        return text;
    }

    private static String required(@Nullable String text) {
        return text == null ? "" : text;
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
        ByteBuffer bytes = ByteBuffer.allocate(length);
        for (byte[] text : texts) {
            bytes.putInt(text.length).put(text);
        }
        return bytes.array();
    }
}
