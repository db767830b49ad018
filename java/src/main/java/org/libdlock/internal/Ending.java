package org.libdlock.internal;

import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The future of an operation that goes on, and has its effect, whatever becomes of the future. */
final class Ending<T extends @Nullable Object> extends Completion<T> {
    private final Function<Object, T> effect;

    /** A future of what {@code effect} returns for the reply, or throws. */
    Ending(Executor callbacks, Executor signals, Function<Object, T> effect) {
        super(callbacks, signals);
        this.effect = effect;
    }

    @Override
    void deliver(Object reply) {
        T value;
        try {
            value = effect.apply(reply);
        } catch (RuntimeException exception) {
            completeExceptionally(exception);
            return;
        }
        complete(value);
    }
}
