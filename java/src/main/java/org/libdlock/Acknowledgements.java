package org.libdlock;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.libdlock.internal.Native;

/** Deliveries of one queue that are acknowledged together. */
final class Acknowledgements {
    private final List<Delivery> all;

    /** Of each whether its end was not known here before. */
    private final List<Boolean> isAsked = new ArrayList<>();

    private final List<Delivery> asked = new ArrayList<>();

    Acknowledgements(Collection<Delivery> deliveries) {
        Arguments.notNull(deliveries, "deliveries");
        this.all = new ArrayList<>(deliveries);
        for (Delivery delivery : all) {
            Arguments.notNull(delivery, "a delivery");
            isAsked.add(!delivery.isOver());
            if (!delivery.isOver()) {
                asked.add(delivery);
            }
        }
    }

    /** Their ends begin. */
    NativeObject.Operation begin() {
        asked.forEach(Delivery::begin);
        return (port, id, queue) -> Native.queueAckMany(
                port,
                id,
                queue,
                asked.stream()
                        .mapToLong(delivery -> delivery.granted().handle())
                        .toArray());
    }

    /** The server has answered, or nothing was begun. */
    void told() {
        asked.forEach(Delivery::goesOnOrIsOver);
    }

    /** What became of each, of what became of those that were asked for. */
    List<Boolean> answers(boolean[] answers) {
        List<Boolean> each = new ArrayList<>();
        int at = 0;
        for (boolean wasAsked : isAsked) {
            each.add(wasAsked && answers[at++]);
        }
        return each;
    }
}
