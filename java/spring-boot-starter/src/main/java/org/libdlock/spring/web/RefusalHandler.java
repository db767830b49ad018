package org.libdlock.spring.web;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Answers refused requests in place of the problem of RFC 9457. A bean of this type answers those of {@code @RateLimited}. */
@FunctionalInterface
public interface RefusalHandler {
    /**
     * Writes the answer. Status and fields are set already.
     *
     * @param refusal why
     * @param request what was asked
     * @param response the answer
     * @throws IOException when the answer cannot be written
     */
    void refuse(Refusal refusal, HttpServletRequest request, HttpServletResponse response) throws IOException;
}
