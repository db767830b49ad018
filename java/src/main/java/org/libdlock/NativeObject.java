package org.libdlock;

import java.lang.ref.Reference;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Native;
import org.libdlock.internal.NativeWait;
import org.libdlock.internal.Port;
import org.libdlock.internal.Reclaimer;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * The native half of an object of which nobody holds anything: its handle, and the ways to call. A platform thread waits in native code, a
 * virtual one in Java, where it gives up its carrier.
 */
final class NativeObject {
    private static final long NO_CANCEL = 0;

    private final Client client;
    private final long handle;

    NativeObject(Client client, long handle) {
        this.client = client;
        this.handle = handle;
        Reclaimer.register(this, () -> Native.free(handle));
    }

    /** One call of {@link Native} that starts an operation. */
    @FunctionalInterface
    interface Operation {
        long submit(long port, long id, long of);
    }

    /** What a caller waits for: the two calls of {@link Native} that wait, and what came of the first. */
    interface Waiting extends Operation {
        /** Waits in native code, until {@code cancel} (0 for none) is fired. */
        boolean block(long of, long cancel);

        /** What {@link #block} would have answered. */
        boolean answer(Object reply);
    }

    /** Asks on the calling thread, which native code may block. */
    <T> T ask(LongFunction<T> question) {
        try {
            return question.apply(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** A question that waits in native code, until {@code cancel} (0 for none) is fired. */
    @FunctionalInterface
    interface Asking {
        Object ask(long of, long cancel);
    }

    /** As {@link #ask}; an interrupt ends it. */
    Object askInterruptibly(Asking question) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Object[] answer = {Wire.DONE};
        NativeWait.interruptibly(cancel -> {
            answer[0] = ask(of -> question.ask(of, cancel));
            return true;
        });
        return answer[0];
    }

    /** Runs an operation; an interrupt is kept for later. */
    <T> T call(Operation operation, Class<T> type) {
        return Replies.of(call(operation), type);
    }

    /** As {@link #call(Operation, Class)}, of an operation that brings nothing. */
    void run(Operation operation) {
        Replies.check(call(operation));
    }

    /** As {@link #call(Operation, Class)}, of an operation that an interrupt ends. */
    Object callInterruptibly(Operation operation) throws InterruptedException {
        return client.port().callInterruptibly(by(operation));
    }

    Port port() {
        return client.port();
    }

    private Object call(Operation operation) {
        return client.port().call(by(operation));
    }

    /** Waits; an interrupt is kept for later. */
    boolean await(Waiting waiting) {
        return Threads.mayBlock() ? block(waiting, NO_CANCEL) : waiting.answer(call(waiting));
    }

    /** Waits; an interrupt ends it. */
    boolean awaitInterruptibly(Waiting waiting) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (Threads.mayBlock()) {
            return NativeWait.interruptibly(cancel -> block(waiting, cancel));
        }
        return waiting.answer(client.port().callInterruptibly(by(waiting)));
    }

    /** Starts an operation whose caller need not hear of it. */
    <T extends @Nullable Object> CompletableFuture<T> start(Operation operation, Function<Object, T> convert) {
        return client.port().start(by(operation), convert, late -> {});
    }

    /** Starts an operation that goes on, and has its effect, whatever becomes of the future. */
    <T extends @Nullable Object> CompletableFuture<T> startEnding(Operation operation, Function<Object, T> effect) {
        return client.port().startEnding(Port.Lane.CALLBACKS, by(operation), effect);
    }

    /** Starts a wait, which ends when nobody waits for the future any more; {@code unwanted} undoes what came too late. */
    <T extends @Nullable Object> CompletableFuture<T> startWaiting(
            Operation operation, Function<Object, T> convert, Consumer<T> unwanted) {
        return startWaiting(Port.Lane.CALLBACKS, operation, convert, unwanted);
    }

    /** As above; {@code lane} runs what depends on the future. */
    <T extends @Nullable Object> CompletableFuture<T> startWaiting(
            Port.Lane lane, Operation operation, Function<Object, T> convert, Consumer<T> unwanted) {
        return client.port().startWaiting(lane, by(operation), convert, unwanted);
    }

    private boolean block(Waiting waiting, long cancel) {
        try {
            return waiting.block(handle, cancel);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Port.Submit by(Operation operation) {
        return (port, id) -> {
            try {
                return operation.submit(port, id, handle);
            } finally {
                Reference.reachabilityFence(this);
            }
        };
    }
}
