package org.libdlock.spring;

/** What an application has to change before it can start; Spring Boot reports it without a stack trace. */
public class LibdlockConfigurationException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What can be done about it. */
    private final String action;

    /**
     * For what is wrong.
     *
     * @param description what is wrong, and where
     * @param action what to do about it
     */
    public LibdlockConfigurationException(String description, String action) {
        super(description);
        this.action = action;
    }

    /**
     * For what is wrong, with what said so.
     *
     * @param description what is wrong, and where
     * @param action what to do about it
     * @param cause what said so
     */
    public LibdlockConfigurationException(String description, String action, Throwable cause) {
        super(description, cause);
        this.action = action;
    }

    /**
     * What to do about it.
     *
     * @return a sentence
     */
    public String action() {
        return action;
    }
}
