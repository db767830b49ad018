package org.libdlock.redisson;

import java.time.Duration;
import java.util.List;
import org.redisson.api.RSemaphore;

/**
 * What a thread can do with a semaphore whose permits have no owner:
 *
 * <pre>
 *   counting-set TOTAL           trySetPermits(TOTAL)
 *   counting-take N WAIT_MS      tryAcquire, with a wait of -1 acquire; "acquired US" or "busy US"
 *   counting-give N              release; "released US", the time before the call
 *   counting-add N               addPermits(N)
 *   counting-drain               drainPermits()
 *   counting-available           availablePermits()
 * </pre>
 */
final class CountingVerbs {
    private CountingVerbs() {}

    static String run(RSemaphore semaphore, String verb, List<String> rest) throws InterruptedException {
        return switch (verb) {
            case "counting-set" -> String.valueOf(semaphore.trySetPermits(Integer.parseInt(rest.get(0))));
            case "counting-take" -> take(semaphore, Integer.parseInt(rest.get(0)), Long.parseLong(rest.get(1)));
            case "counting-give" -> give(semaphore, Integer.parseInt(rest.get(0)));
            case "counting-add" -> {
                semaphore.addPermits(Integer.parseInt(rest.get(0)));
                yield "added";
            }
            case "counting-drain" -> String.valueOf(semaphore.drainPermits());
            case "counting-available" -> String.valueOf(semaphore.availablePermits());
            default -> throw new IllegalArgumentException("cannot read " + verb);
        };
    }

    private static String take(RSemaphore semaphore, int permits, long waitMs) throws InterruptedException {
        boolean acquired = true;
        if (waitMs < 0) semaphore.acquire(permits);
        else if (waitMs == 0) acquired = semaphore.tryAcquire(permits);
        else acquired = semaphore.tryAcquire(permits, Duration.ofMillis(waitMs));
        return (acquired ? "acquired " : "busy ") + Peer.nowUs();
    }

    private static String give(RSemaphore semaphore, int permits) {
        long called = Peer.nowUs();
        semaphore.release(permits);
        return "released " + called;
    }
}
