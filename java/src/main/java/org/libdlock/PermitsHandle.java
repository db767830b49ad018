package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;

/**
 * Permits that belong to this object and to no thread: what {@link DistributedSemaphore#take()} and
 * {@link DistributedSemaphore#takeAsync()} give. All of one acquire, which end together. May be used, and released, from any thread.
 *
 * <p>Close or release it. One that is collected while it holds is no longer renewed, a warning is logged, and the lease runs out. There is
 * no fencing token: several hold at once, so no order of theirs could protect a resource.
 */
public final class PermitsHandle extends Held {
    private final DistributedSemaphore semaphore;

    PermitsHandle(DistributedSemaphore semaphore, Port port, Hold hold) {
        super("its permits", semaphore.name(), port, hold);
        this.semaphore = semaphore;
    }

    /**
     * The semaphore of which permits are held.
     *
     * @return the one whose method gave this handle
     */
    public DistributedSemaphore semaphore() {
        return semaphore;
    }

    /**
     * The owner as the server knows it.
     *
     * @return {@code <client uuid>:<n>/<how many>}; also after the end
     */
    public String owner() {
        return ownerOnTheServer();
    }

    /**
     * The ids of the permits on the server, as Redisson's {@code RPermitExpirableSemaphore} has them. No I/O.
     *
     * @return 32 hexadecimal digits for each permit; none when the hold is over
     */
    public List<String> permits() {
        return ask(List.of(), held -> {
            String ids = new String(Native.heldPermits(held), StandardCharsets.US_ASCII);
            return List.of(ids.split(",", -1));
        });
    }

    /** The semaphore's name and the owner, which ends with the number of permits, for logs and debuggers. */
    @Override
    public String toString() {
        return "PermitsHandle[" + semaphore.name() + ", owner " + owner() + "]";
    }
}
