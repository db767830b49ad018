package org.libdlock.internal;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Runs an action when an object was collected, as {@link java.lang.ref.Cleaner} does, but its thread lives only while there is something
 * to run: a thread that waited for more would keep the class loader of all actions.
 */
public final class Reclaimer {
    private static final ReferenceQueue<Object> COLLECTED = new ReferenceQueue<>();
    private static final Set<Action> ACTIONS = ConcurrentHashMap.newKeySet();
    private static final Callbacks THREAD = new Callbacks("libdlock-reclaimer", 1);

    private Reclaimer() {}

    /** Work that is to be run once. */
    public static final class Action extends PhantomReference<Object> {
        private final Runnable work;

        private Action(Object object, Runnable work) {
            super(object, COLLECTED);
            this.work = work;
        }

        /** Runs it now, on the calling thread, unless it was run before. */
        public void run() {
            if (ACTIONS.remove(this)) {
                clear();
                work.run();
            }
        }
    }

    /**
     * Has an action run when the object is collected.
     *
     * @param object is not kept
     * @param work does not refer to the object
     * @return runs it sooner
     */
    public static Action register(Object object, Runnable work) {
        look();
        Action action = new Action(object, work);
        ACTIONS.add(action);
        return action;
    }

    /** Runs the actions of objects that were collected, on another thread: they may block. */
    static void look() {
        for (Reference<?> found = COLLECTED.poll(); found != null; found = COLLECTED.poll()) {
            if (found instanceof Action action) {
                THREAD.execute(action::run);
            }
        }
    }

    /** Has its thread end when it has nothing to run. */
    static void rest() {
        THREAD.rest();
    }
}
