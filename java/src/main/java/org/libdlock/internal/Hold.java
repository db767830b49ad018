package org.libdlock.internal;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A hold as it was granted. */
public final class Hold {
    private final long[] numbers;
    private final @Nullable String owner;

    Hold(long handle, long token, String owner) {
        this.numbers = new long[] {handle, token};
        this.owner = owner;
    }

    /** Made before it is granted, so that nothing is left to be allocated when it is. */
    public Hold() {
        this.numbers = new long[2];
        this.owner = null;
    }

    /**
     * What {@link Native#lockAcquireBlocking} writes to.
     *
     * @return handle and token; zeros until it is granted
     */
    public long[] numbers() {
        return numbers;
    }

    /**
     * The native handle.
     *
     * @return to ask about it; to be given back with {@link Native#free}
     */
    public long handle() {
        return numbers[0];
    }

    /**
     * The fencing token.
     *
     * @return larger than that of any earlier hold of the name
     */
    public long token() {
        return numbers[1];
    }

    /**
     * The owner on the wire.
     *
     * @return as long as the handle was not given back
     */
    public String owner() {
        return owner != null ? owner : ownerOf(handle());
    }

    /**
     * The owner of a hold on the wire.
     *
     * @param held the native handle
     * @return as the server knows it
     */
    public static String ownerOf(long held) {
        return new String(Native.heldOwner(held), StandardCharsets.UTF_8);
    }
}
