package org.libdlock;

import org.libdlock.internal.Hold;
import org.libdlock.internal.Port;

/** The hold of a {@link Worker}, which cannot be extended and has no token. */
final class NumberHandle extends Held {
    NumberHandle(String pool, Port port, Hold hold) {
        super("its number", pool, port, hold);
    }
}
