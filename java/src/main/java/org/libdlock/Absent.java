package org.libdlock;

import java.nio.charset.StandardCharsets;

/** What a rate limiter answers while its server cannot be reached. */
public final class Absent {
    /** An exception: {@link ConnectionException}, or {@link OutcomeUnknownException} when the tokens may have been spent. */
    public static final Absent FAIL = new Absent("fail", Arguments.NOT_GIVEN);
    /** A refusal. */
    public static final Absent DENY = new Absent("deny", Arguments.NOT_GIVEN);
    /** A grant. */
    public static final Absent ALLOW = new Absent("allow", Arguments.NOT_GIVEN);

    private final String word;
    private final long shareOf;

    private Absent(String word, long shareOf) {
        this.word = word;
        this.shareOf = shareOf;
    }

    /**
     * This client goes on by itself with its share of the rate.
     *
     * @param of among how many clients the rate is shared, 1 to 1,000,000
     * @return the policy; it is checked where a limiter is made with it
     */
    public static Absent localShare(int of) {
        return new Absent("local_share", of);
    }

    byte[] word() {
        return word.getBytes(StandardCharsets.US_ASCII);
    }

    long shareOf() {
        return shareOf;
    }

    /** The policy's word. */
    @Override
    public String toString() {
        return shareOf == Arguments.NOT_GIVEN ? word : word + " of " + shareOf;
    }
}
