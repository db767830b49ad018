package org.libdlock;

import java.lang.ref.Reference;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Holders;
import org.libdlock.internal.Native;
import org.libdlock.internal.NativeWait;
import org.libdlock.internal.Port;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * A lock's native half, and how the calling thread becomes its holder and stops being one. A platform thread waits in native code: so
 * the one that grants wakes it, and nobody stands between them. A virtual one waits in Java, where it gives up its carrier.
 */
final class NativeLock {
    private static final long NO_HOLDER = 0;
    private static final long NO_CANCEL = 0;

    private final Client client;
    private final Holders.Key key;
    private final long handle;

    /** Of the thread that was the last to acquire through this object: found without a map. Racy; who reads it compares the holder. */
    private Holders.@Nullable Levels latest;

    NativeLock(Client client, String name, long handle) {
        this.client = client;
        this.key = new Holders.Key("lock", name);
        this.handle = handle;
        Client.CLEANER.register(this, () -> Native.free(handle));
    }

    /** One call of {@link Native} that starts an operation. */
    @FunctionalInterface
    interface Operation {
        long submit(long port, long id, long lock, long holder);
    }

    /** Runs an operation of the calling thread; an interrupt is kept for later. */
    Object call(Operation operation) {
        long holder = Holders.thisThread();
        try {
            return client.port().call((port, id) -> operation.submit(port, id, handle, holder));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Starts an operation of which the hold belongs to a handle. */
    <T extends @Nullable LockHandle> CompletableFuture<T> start(Operation operation, Function<Object, T> convert) {
        try {
            return client.port()
                    .startWaiting((port, id) -> operation.submit(port, id, handle, NO_HOLDER), convert, late -> {
                        if (late != null) {
                            late.forget();
                        }
                    });
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Acquires for a handle without waiting; null when it was not to be had. */
    @Nullable
    Hold tryHold() {
        if (Threads.mayBlock()) {
            Hold hold = new Hold();
            return tryHoldBlocking(hold) ? hold : null;
        }
        Object reply = client.port().call(forHandle(acquiring(0, Arguments.NOT_GIVEN)));
        return Replies.doneOrBusy(reply) ? Replies.of(reply, Hold.class) : null;
    }

    /** Acquires for a handle; an interrupt ends it. {@link AcquireTimeoutException} when it was not to be had in that time. */
    Hold awaitHold(long waitMillis, long leaseMillis) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (Threads.mayBlock()) {
            Hold hold = new Hold();
            NativeWait.interruptibly(cancel -> holdBlocking(waitMillis, leaseMillis, cancel, true, hold));
            return hold;
        }
        Object reply = client.port().callInterruptibly(forHandle(acquiring(waitMillis, leaseMillis)));
        return Replies.of(reply, Hold.class);
    }

    private boolean tryHoldBlocking(Hold hold) {
        return holdBlocking(0, Arguments.NOT_GIVEN, NO_CANCEL, false, hold);
    }

    private boolean holdBlocking(long waitMillis, long leaseMillis, long cancel, boolean busyThrows, Hold hold) {
        try {
            return Native.lockAcquireBlocking(
                    handle, NO_HOLDER, waitMillis, leaseMillis, cancel, busyThrows, hold.numbers());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Port.Submit forHandle(Operation operation) {
        return (port, id) -> {
            try {
                return operation.submit(port, id, handle, NO_HOLDER);
            } finally {
                Reference.reachabilityFence(this);
            }
        };
    }

    /** Acquires; an interrupt is kept for later. False when it was not to be had in that time. */
    boolean acquire(long waitMillis, long leaseMillis) {
        long holder = Holders.thisThread();
        if (entersAgain(holder, waitMillis, leaseMillis)) {
            return true;
        }
        if (Threads.mayBlock()) {
            return acquireBlocking(holder, waitMillis, leaseMillis, NO_CANCEL);
        }
        return enter(() -> call(acquiring(waitMillis, leaseMillis)));
    }

    /** As {@link #acquire}, but an interrupt ends it. */
    boolean acquireInterruptibly(long waitMillis, long leaseMillis) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long holder = Holders.thisThread();
        if (entersAgain(holder, waitMillis, leaseMillis)) {
            return true;
        }
        if (Threads.mayBlock()) {
            return NativeWait.interruptibly(cancel -> acquireBlocking(holder, waitMillis, leaseMillis, cancel));
        }
        Operation acquiring = acquiring(waitMillis, leaseMillis);
        return enter(() -> {
            try {
                return client.port().callInterruptibly((port, id) -> acquiring.submit(port, id, handle, holder));
            } finally {
                Reference.reachabilityFence(this);
            }
        });
    }

    /** Takes over a hold. */
    void attach(byte[] text) {
        enter(() -> call((port, id, lock, holder) -> Native.lockAttach(port, id, lock, holder, text)));
    }

    /** Gives up one level of the calling thread. */
    void release() {
        long holder = Holders.thisThread();
        Holders.Levels levels = levels(holder);
        try {
            if (levels != null && Native.lockReleaseReentry(handle, holder)) {
                levels.take();
                return;
            }
            release(holder);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private void release(long holder) {
        try {
            if (Threads.mayBlock()) {
                Native.lockReleaseBlocking(handle, holder);
            } else {
                Replies.check(call(Native::lockRelease));
            }
        } finally {
            left();
        }
    }

    /** The calling thread holds one level less, or has lost what it held. */
    void left() {
        latest = null;
        client.holders().leave(key);
    }

    /** How many levels the calling thread holds. An answer of 0 tells it of a loss, so that it may acquire anew. */
    int holdCount() {
        try {
            int count = Native.lockHoldCount(handle, Holders.thisThread());
            if (count == 0) {
                latest = null;
                client.holders().forget(key);
            }
            return count;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** What the calling thread got last, or null. */
    @Nullable
    Hold hold() {
        return client.holders().hold(key);
    }

    private static Operation acquiring(long waitMillis, long leaseMillis) {
        return (port, id, lock, holder) -> Native.lockAcquire(port, id, lock, holder, waitMillis, leaseMillis);
    }

    private boolean acquireBlocking(long holder, long waitMillis, long leaseMillis, long cancel) {
        Hold hold = new Hold();
        client.holders().enter(key, this);
        boolean granted = false;
        try {
            granted =
                    Native.lockAcquireBlocking(handle, holder, waitMillis, leaseMillis, cancel, false, hold.numbers());
            if (granted) {
                keep(hold);
            }
            return granted;
        } finally {
            if (!granted) {
                client.holders().leave(key);
            }
            Reference.reachabilityFence(this);
        }
    }

    /** One more level of what this thread holds, if that takes no more than counting. */
    private boolean entersAgain(long holder, long waitMillis, long leaseMillis) {
        Holders.Levels levels = levels(holder);
        try {
            if (levels == null || !Native.lockReenter(handle, holder, waitMillis, leaseMillis)) {
                return false;
            }
        } finally {
            Reference.reachabilityFence(this);
        }
        levels.add();
        return true;
    }

    /** What this thread holds of the lock, through this object or another. */
    private Holders.@Nullable Levels levels(long holder) {
        Holders.Levels seen = latest;
        return seen != null && seen.holder() == holder ? seen : client.holders().levels(key);
    }

    private interface Asking<E extends Exception> {
        Object ask() throws E;
    }

    /** This thread is known to be a holder from before it asks until it has nothing any more. False when the lock was busy. */
    private <E extends Exception> boolean enter(Asking<E> asking) throws E {
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

    private void keep(Hold granted) {
        client.holders().granted(key, granted);
        latest = client.holders().levels(key);
    }
}
