package org.libdlock.spring.web;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.libdlock.Decision;
import org.libdlock.DlockError;
import org.libdlock.InvalidNameException;
import org.libdlock.RateLimiter;
import org.libdlock.UnavailableException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;

/** A limiter that requests are asked for, and what is answered. */
final class HttpLimit {
    private final RateLimiter limiter;
    private final RateLimitFields fields;
    private final RefusalHandler refusals;

    HttpLimit(RateLimiter limiter, String name, RefusalHandler refusals) {
        this.limiter = limiter;
        this.fields = new RateLimitFields(name, limiter.rates());
        this.refusals = refusals;
    }

    /** Whether the request may go on; otherwise it has been answered. */
    boolean passes(HttpServletRequest request, HttpServletResponse response, @Nullable String key, long cost)
            throws IOException {
        Decision decision;
        try {
            decision = (key == null || key.isEmpty() ? limiter : limiter.keyed(key)).tryAcquire(cost);
        } catch (UnavailableException away) {
            add(response, RateLimitFields.POLICY, fields.policy());
            setRetryAfter(response, 1);
            String detail = "the rate limit cannot be decided now; try again in 1 s";
            return refuse(HttpStatus.SERVICE_UNAVAILABLE, detail, null, away, request, response);
        } catch (InvalidNameException wrong) {
            String detail = "the key of the rate limit is too long, or has characters that it may not have";
            return refuse(HttpStatus.BAD_REQUEST, detail, null, wrong, request, response);
        }
        add(response, RateLimitFields.POLICY, fields.policy());
        String limit = fields.limit(decision);
        if (limit != null) {
            add(response, RateLimitFields.LIMIT, limit);
        }
        if (decision.allowed()) {
            return true;
        }
        Long wait = RateLimitFields.retryAfter(decision);
        if (wait != null) {
            setRetryAfter(response, wait);
        }
        String again = wait == null ? "this request can never be granted" : "try again in " + wait + " s";
        String detail = "rate limit reached; " + again;
        return refuse(HttpStatus.TOO_MANY_REQUESTS, detail, decision, null, request, response);
    }

    private boolean refuse(
            HttpStatus status,
            String detail,
            @Nullable Decision decision,
            @Nullable DlockError error,
            HttpServletRequest request,
            HttpServletResponse response)
            throws IOException {
        response.setStatus(status.value());
        refusals.refuse(new Refusal(status, detail, decision, error), request, response);
        return false;
    }

    /** Lists that the answer has already are continued. */
    private static void add(HttpServletResponse response, String name, String value) {
        String present = String.join(", ", response.getHeaders(name));
        response.setHeader(name, present.isEmpty() ? value : present + ", " + value);
    }

    private static void setRetryAfter(HttpServletResponse response, long seconds) {
        if (!response.containsHeader(HttpHeaders.RETRY_AFTER)) {
            response.setHeader(HttpHeaders.RETRY_AFTER, Long.toString(seconds));
        }
    }

    /** Answers with the problem. */
    static void problem(Refusal refusal, HttpServletRequest request, HttpServletResponse response) throws IOException {
        byte[] body = refusal.json().getBytes(StandardCharsets.UTF_8);
        response.setContentType(MediaType.APPLICATION_PROBLEM_JSON_VALUE);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
