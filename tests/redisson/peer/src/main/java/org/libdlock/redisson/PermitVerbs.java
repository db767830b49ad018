package org.libdlock.redisson;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;

/**
 * What a thread can do with a semaphore whose permits have a lease:
 *
 * <pre>
 *   permits-set TOTAL              trySetPermits(TOTAL)
 *   permits-take N WAIT_MS LEASE_MS   tryAcquire; "acquired US ID,ID..." or "busy US". A lease of -1 is none
 *   permits-free ID,ID...          release; "released US", the time before the call
 *   permits-available              availablePermits()
 *   permits-total                  getPermits()
 *   permits-taken                  acquiredPermits()
 * </pre>
 */
final class PermitVerbs {
    private PermitVerbs() {}

    static String run(RPermitExpirableSemaphore semaphore, String verb, List<String> rest) throws InterruptedException {
        return switch (verb) {
            case "permits-set" -> String.valueOf(semaphore.trySetPermits(Integer.parseInt(rest.get(0))));
            case "permits-take" ->
                take(
                        semaphore,
                        Integer.parseInt(rest.get(0)),
                        Long.parseLong(rest.get(1)),
                        Long.parseLong(rest.get(2)));
            case "permits-free" -> free(semaphore, List.of(rest.get(0).split(",")));
            case "permits-available" -> String.valueOf(semaphore.availablePermits());
            case "permits-total" -> String.valueOf(semaphore.getPermits());
            case "permits-taken" -> String.valueOf(semaphore.acquiredPermits());
            default -> throw new IllegalArgumentException("cannot read " + verb);
        };
    }

    private static String take(RPermitExpirableSemaphore semaphore, int permits, long waitMs, long leaseMs)
            throws InterruptedException {
        List<String> ids = semaphore.tryAcquire(permits, waitMs, leaseMs, TimeUnit.MILLISECONDS);
        if (ids == null || ids.isEmpty()) return "busy " + Peer.nowUs();
        return "acquired " + Peer.nowUs() + " " + String.join(",", ids);
    }

    private static String free(RPermitExpirableSemaphore semaphore, List<String> ids) {
        long called = Peer.nowUs();
        semaphore.release(ids);
        return "released " + called;
    }
}
