package org.libdlock.spring.web;

import org.jspecify.annotations.Nullable;
import org.libdlock.Decision;
import org.libdlock.DlockError;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;

/**
 * A request that its handler does not get.
 *
 * @param status 429; 503 if the server could not be asked; 400 if the key is one that no name may be
 * @param detail why, in one sentence that may be shown to the client
 * @param decision what the limiter decided; {@code null} if it could not
 * @param error why it could not; {@code null} if it could
 */
public record Refusal(
        HttpStatus status,
        String detail,
        @Nullable Decision decision,
        @Nullable DlockError error) {
    /**
     * The answer, as RFC 9457 describes it.
     *
     * @return the problem
     */
    public ProblemDetail problem() {
        return ProblemDetail.forStatusAndDetail(status, detail);
    }

    /** The problem as JSON. Written here, because an application need not have a converter for it. */
    String json() {
        return "{\"type\":\"about:blank\",\"title\":\"" + status.getReasonPhrase() + "\",\"status\":" + status.value()
                + ",\"detail\":\"" + detail + "\"}";
    }
}
