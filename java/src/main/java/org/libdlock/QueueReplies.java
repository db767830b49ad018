package org.libdlock;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.libdlock.internal.Delivered;
import org.libdlock.internal.Listed;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;

/** What the operations of a queue brought. */
final class QueueReplies {
    private QueueReplies() {}

    static List<PutResult> puts(Object reply) {
        return List.of(Replies.of(reply, PutResult[].class));
    }

    static PutResult put(Object reply) {
        return Replies.of(reply, PutResult[].class)[0];
    }

    static List<ListedJob> listed(Object reply) {
        return Arrays.stream(Replies.of(reply, Listed[].class))
                .map(ListedJob::new)
                .toList();
    }

    /** Those that a JVM without memory cannot make are given up: their jobs go back. */
    static List<Delivery> deliveries(DistributedQueue queue, Port port, Object reply) {
        Delivered[] all = Replies.of(reply, Delivered[].class);
        AtomicInteger made = new AtomicInteger();
        boolean done = false;
        try {
            List<Delivery> deliveries = Arrays.stream(all)
                    .map(delivered -> {
                        Delivery delivery = new Delivery(queue.of(delivered), port, delivered);
                        made.incrementAndGet();
                        return delivery;
                    })
                    .toList();
            done = true;
            return deliveries;
        } finally {
            // Those that were made are the garbage collector's.
            for (int at = made.get(); !done && at < all.length; at++) {
                Native.free(all[at].hold.handle());
            }
        }
    }
}
