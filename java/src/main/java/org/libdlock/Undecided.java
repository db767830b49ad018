package org.libdlock;

/**
 * An item of a batch that has no decision, but an error of its own.
 *
 * @param error what the item met: the exception that a single call would have thrown
 */
public record Undecided(RuntimeException error) implements Answer {
    /** False: nothing was allowed. */
    @Override
    public boolean allowed() {
        return false;
    }
}
