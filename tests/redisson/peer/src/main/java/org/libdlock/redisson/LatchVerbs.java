package org.libdlock.redisson;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;

/**
 * What a thread can do with a latch:
 *
 * <pre>
 *   latch-set COUNT        trySetCount(COUNT)
 *   latch-down             countDown(); "counted US", the time before the call
 *   latch-count            getCount()
 *   latch-await WAIT_MS    await, with a wait of -1 without end; "opened US" or "closed US"
 *   latch-delete           delete()
 * </pre>
 */
final class LatchVerbs {
    private LatchVerbs() {}

    static String run(RCountDownLatch latch, String verb, List<String> rest) throws InterruptedException {
        return switch (verb) {
            case "latch-set" -> String.valueOf(latch.trySetCount(Long.parseLong(rest.get(0))));
            case "latch-down" -> countDown(latch);
            case "latch-count" -> String.valueOf(latch.getCount());
            case "latch-await" -> await(latch, Long.parseLong(rest.get(0)));
            case "latch-delete" -> String.valueOf(latch.delete());
            default -> throw new IllegalArgumentException("cannot read " + verb);
        };
    }

    private static String countDown(RCountDownLatch latch) {
        long called = Peer.nowUs();
        latch.countDown();
        return "counted " + called;
    }

    private static String await(RCountDownLatch latch, long waitMs) throws InterruptedException {
        boolean opened = true;
        if (waitMs < 0) latch.await();
        else opened = latch.await(waitMs, TimeUnit.MILLISECONDS);
        return (opened ? "opened " : "closed ") + Peer.nowUs();
    }
}
