package org.libdlock.spring.boot;

import org.libdlock.spring.LibdlockConfigurationException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says what to change in place of a stack trace. */
final class LibdlockFailureAnalyzer extends AbstractFailureAnalyzer<LibdlockConfigurationException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LibdlockConfigurationException cause) {
        return new FailureAnalysis(String.valueOf(cause.getMessage()), cause.action(), cause);
    }
}
