package org.libdlock;

import java.lang.ref.Reference;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Holders;
import org.libdlock.internal.Native;
import org.libdlock.internal.NativeWait;
import org.libdlock.internal.Port;
import org.libdlock.internal.Reclaimer;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * The native half of what can be acquired, for a handle or by the calling thread. A platform thread waits in native code: so the one that
 * grants wakes it, and nobody stands between them. A virtual one waits in Java, where it gives up its carrier.
 */
abstract class Acquirable<H extends Held> {
    private static final long NO_HOLDER = 0;
    private static final long NO_CANCEL = 0;

    final Client client;
    final Holders.Key key;
    final long handle;

    Acquirable(Client client, String kind, String name, long handle) {
        this.client = client;
        this.key = new Holders.Key(kind, name);
        this.handle = handle;
        Reclaimer.register(this, () -> Native.free(handle));
    }

    /** One call of {@link Native} that starts an operation. */
    @FunctionalInterface
    interface Operation {
        long submit(long port, long id, long of, long holder);
    }

    /** One acquire: the two calls of {@link Native} that make it, each with what it asks for. */
    interface Acquire extends Operation {
        /** Waits in native code. */
        boolean block(long of, long holder, long cancel, boolean busyThrows, long[] granted);
    }

    /** What to ask the view of a hold. */
    @FunctionalInterface
    interface Question<T> {
        @Nullable
        T ask(long held);
    }

    /** One call of {@link Native} that gives a view of what a holder has; 0 when it has nothing. */
    @FunctionalInterface
    interface View {
        long of(long of, long holder);
    }

    /** Asks about what the calling thread has, as the core knows it; null when that is nothing. */
    final <T> @Nullable T ask(View view, Question<T> question) {
        try {
            long held = view.of(handle, Holders.thisThread());
            if (held == 0) {
                return null;
            }
            try {
                return question.ask(held);
            } finally {
                Native.free(held);
            }
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** For messages. */
    String name() {
        return key.name();
    }

    /** The handle of a hold that belongs to no thread. */
    abstract H handle(Hold hold);

    /** The calling thread, which is known as a holder already, got a hold. */
    abstract void keep(Hold granted);

    /** Runs an operation of the calling thread; an interrupt is kept for later. */
    final Object call(Operation operation) {
        return client.port().call(by(Holders.thisThread(), operation));
    }

    private Port.Submit by(long holder, Operation operation) {
        return (port, id) -> {
            try {
                return operation.submit(port, id, handle, holder);
            } finally {
                Reference.reachabilityFence(this);
            }
        };
    }

    /** Acquires for a handle without waiting; null when it was not to be had. */
    final @Nullable H tryTake(Acquire acquire) {
        if (Threads.mayBlock()) {
            Hold hold = new Hold();
            return block(acquire, NO_HOLDER, NO_CANCEL, false, hold) ? made(hold) : null;
        }
        Object reply = client.port().call(by(NO_HOLDER, acquire));
        return Replies.doneOrBusy(reply) ? taken(reply) : null;
    }

    /** Acquires for a handle; an interrupt ends it. {@link AcquireTimeoutException} when it was not to be had in that time. */
    final H take(Acquire acquire) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (Threads.mayBlock()) {
            Hold hold = new Hold();
            NativeWait.interruptibly(cancel -> block(acquire, NO_HOLDER, cancel, true, hold));
            return made(hold);
        }
        return taken(client.port().callInterruptibly(by(NO_HOLDER, acquire)));
    }

    /** Starts an operation that brings a hold for a handle. */
    final CompletableFuture<H> takeAsync(Operation operation) {
        return start(operation, this::taken);
    }

    /** As {@link #takeAsync}; null when it was not to be had. */
    final CompletableFuture<@Nullable H> tryTakeAsync(Acquire acquire) {
        Function<Object, @Nullable H> convert = new Function<Object, @Nullable H>() {
            @Override
            public @Nullable H apply(Object reply) {
                return Replies.doneOrBusy(reply) ? taken(reply) : null;
            }
        };
        return this.<@Nullable H>start(acquire, convert);
    }

    private <T extends @Nullable H> CompletableFuture<T> start(Operation operation, Function<Object, T> convert) {
        return client.port().startWaiting(by(NO_HOLDER, operation), convert, late -> {
            if (late != null) {
                late.forget();
            }
        });
    }

    private H taken(Object reply) {
        return made(Replies.of(reply, Hold.class));
    }

    private H made(Hold hold) {
        boolean made = false;
        try {
            H handle = handle(hold);
            made = true;
            return handle;
        } finally {
            if (!made) {
                Native.free(hold.handle());
            }
        }
    }

    /** Acquires for the calling thread; an interrupt is kept for later. False when it was not to be had in that time. */
    final boolean acquire(Acquire acquire) {
        long holder = Holders.thisThread();
        if (Threads.mayBlock()) {
            return acquireBlocking(acquire, holder, NO_CANCEL);
        }
        return enter(() -> client.port().call(by(holder, acquire)));
    }

    /** As {@link #acquire}, but an interrupt ends it. */
    final boolean acquireInterruptibly(Acquire acquire) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long holder = Holders.thisThread();
        if (Threads.mayBlock()) {
            return NativeWait.interruptibly(cancel -> acquireBlocking(acquire, holder, cancel));
        }
        return enter(() -> client.port().callInterruptibly(by(holder, acquire)));
    }

    private boolean acquireBlocking(Acquire acquire, long holder, long cancel) {
        Hold hold = new Hold();
        client.holders().enter(key, this);
        boolean granted = false;
        try {
            granted = block(acquire, holder, cancel, false, hold);
            if (granted) {
                keep(hold);
            }
            return granted;
        } finally {
            if (!granted) {
                client.holders().leave(key);
            }
        }
    }

    private boolean block(Acquire acquire, long holder, long cancel, boolean busyThrows, Hold hold) {
        try {
            return acquire.block(handle, holder, cancel, busyThrows, hold.numbers());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    interface Asking<E extends Exception> {
        Object ask() throws E;
    }

    /** This thread is known to be a holder from before it asks until it has nothing any more. False when it was busy. */
    final <E extends Exception> boolean enter(Asking<E> asking) throws E {
        client.holders().enter(key, this);
        boolean entered = false;
        try {
            Object reply = asking.ask();
            entered = reply instanceof Hold || reply == Wire.DONE;
            if (reply instanceof Hold hold) {
                keep(hold);
            }
            return Replies.doneOrBusy(reply);
        } finally {
            if (!entered) {
                client.holders().leave(key);
            }
        }
    }

    /** An acquire that waits for ever is granted, or throws. */
    final void require(boolean granted) {
        if (!granted) {
            String message = "acquire \"" + name() + "\": not granted";
            Failure busy = new Failure(Kind.BUSY.code(), "acquire", name(), message, null, -1, -1, null, true);
            throw new AcquireTimeoutException(busy);
        }
    }
}
