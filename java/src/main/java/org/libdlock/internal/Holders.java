package org.libdlock.internal;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Which threads may hold something through a client. The core knows who holds what; this knows which threads are still alive, keeps the
 * locks that they hold reachable, and keeps at hand what does not change about a hold.
 *
 * <p>A thread is entered before it asks for a lock and removed when it has left all of them. What stands under a thread is touched by
 * that thread alone, and after its death by the one that looks for the dead.
 */
public final class Holders {
    private static final ThreadLocal<Long> THIS_THREAD = ThreadLocal.withInitial(Native::holderFresh);

    private final long client;
    private final Map<Long, Holder> holders = new ConcurrentHashMap<>();
    private final Views views = new Views();

    /**
     * Nobody yet.
     *
     * @param client the client's handle
     */
    public Holders(long client) {
        this.client = client;
    }

    /** The native handles that threads have, to be freed with the client by one that must not keep it alive. */
    public static final class Views {
        private final Set<Long> handles = ConcurrentHashMap.newKeySet();

        private Views() {}

        private void free(Hold hold) {
            if (handles.remove(hold.handle())) {
                Native.heldFree(hold.handle());
            }
        }

        /** Frees what is left. */
        public void free() {
            handles.removeIf(handle -> {
                Native.heldFree(handle);
                return true;
            });
        }
    }

    /**
     * What is to be freed with the client.
     *
     * @return knows nothing of locks and threads
     */
    public Views views() {
        return views;
    }

    private static final class Holder {
        final WeakReference<Thread> thread = new WeakReference<>(Thread.currentThread());
        final Map<String, Levels> locks = new HashMap<>();
    }

    /** How often a thread holds a lock. */
    public static final class Levels {
        @SuppressWarnings("UnusedVariable") // it is there to keep the lock from the garbage collector
        private final Object lock;

        private final long holder;
        private int count;

        private @Nullable Hold hold;

        private Levels(Object lock, long holder) {
            this.lock = lock;
            this.holder = holder;
        }

        /**
         * Whose they are.
         *
         * @return the thread's number
         */
        public long holder() {
            return holder;
        }

        /** The calling thread, whose they are, has acquired once more. */
        public void add() {
            count++;
        }

        /** The calling thread, whose they are, has released one that is not the last. */
        public void take() {
            count--;
        }
    }

    /**
     * The calling thread as a holder.
     *
     * @return a number that no other thread of this JVM ever has
     */
    public static long thisThread() {
        return THIS_THREAD.get();
    }

    /**
     * The calling thread is about to ask for a lock.
     *
     * @param name the lock's name
     * @param lock kept reachable until the thread has left
     */
    public void enter(String name, Object lock) {
        long id = thisThread();
        Holder holder = holders.computeIfAbsent(id, key -> new Holder());
        holder.locks.computeIfAbsent(name, key -> new Levels(lock, id)).count++;
    }

    /**
     * The calling thread got it.
     *
     * @param name the lock's name
     * @param granted what it got; its handle is kept or given back
     */
    public void granted(String name, Hold granted) {
        views.handles.add(granted.handle());
        Levels levels = levels(name);
        Hold known = levels == null ? null : levels.hold;
        if (levels == null || (known != null && known.token() == granted.token())) {
            views.free(granted);
            return;
        }
        if (known != null) {
            views.free(known);
        }
        levels.hold = granted;
    }

    /**
     * What the calling thread got last.
     *
     * @param name the lock's name
     * @return null when it has left
     */
    public @Nullable Hold hold(String name) {
        Levels levels = levels(name);
        return levels == null ? null : levels.hold;
    }

    /**
     * The calling thread did not get it after all, or released it once.
     *
     * @param name the lock's name
     */
    public void leave(String name) {
        Holder holder = holders.get(thisThread());
        Levels levels = holder == null ? null : holder.locks.get(name);
        if (holder == null || levels == null || --levels.count > 0) {
            return;
        }
        holder.locks.remove(name);
        if (holder.locks.isEmpty()) {
            holders.remove(thisThread());
        }
        if (levels.hold != null) {
            views.free(levels.hold);
        }
    }

    /**
     * How often the calling thread holds a lock.
     *
     * @param name the lock's name
     * @return null when it does not
     */
    public @Nullable Levels levels(String name) {
        Holder holder = holders.get(thisThread());
        return holder == null ? null : holder.locks.get(name);
    }

    /** Stops the renewal of what threads hold that have ended; the core warns. */
    void abandonDead() {
        holders.forEach((id, holder) -> {
            Thread thread = holder.thread.get();
            if (thread != null && thread.isAlive()) {
                return;
            }
            holders.remove(id);
            try {
                Native.clientAbandon(client, id);
            } catch (RuntimeException closed) {
                // The client is gone, and its holds with it.
                Log.debug("nothing to abandon", closed);
            } finally {
                for (Levels levels : holder.locks.values()) {
                    if (levels.hold != null) {
                        views.free(levels.hold);
                    }
                }
            }
        });
    }
}
