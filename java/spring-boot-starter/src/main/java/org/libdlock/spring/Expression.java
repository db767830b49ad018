package org.libdlock.spring;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** A SpEL expression of an annotation, checked when the application starts as far as that is possible. */
public final class Expression {
    private static final SpelExpressionParser PARSER = new SpelExpressionParser();

    private final String where;
    private final SpelExpression parsed;

    private Expression(String where, SpelExpression parsed) {
        this.where = where;
        this.parsed = parsed;
    }

    /**
     * Parses an expression.
     *
     * @param where it stands, for errors: the attribute, the annotation and the method
     * @param text the expression
     * @param variables the names that it may use, or {@code null} where they are not known before a call
     * @return what can be evaluated
     * @throws LibdlockConfigurationException when it is none, or uses another variable
     */
    public static Expression parse(String where, String text, @Nullable Set<String> variables) {
        String what = where + " is \"" + text + "\", ";
        if (text.isBlank()) {
            throw new LibdlockConfigurationException(where + " is empty", "Write an expression.");
        }
        SpelExpression parsed;
        try {
            parsed = PARSER.parseRaw(text);
        } catch (ParseException wrong) {
            throw new LibdlockConfigurationException(
                    what + "which is no SpEL expression: " + wrong.getSimpleMessage(),
                    "Correct the expression. A text in it needs quotes of its own: \"'text'\".",
                    wrong);
        }
        if (variables != null) {
            checkVariables(what, parsed, variables);
        }
        return new Expression(where, parsed);
    }

    private static void checkVariables(String what, SpelExpression parsed, Set<String> variables) {
        for (String used : variablesOf(parsed.getAST(), new ArrayList<>())) {
            if (!variables.contains(used) && !used.equals("root") && !used.equals("this")) {
                throw new LibdlockConfigurationException(
                        what + "which uses #" + used + ", and there is no such variable; there are " + variables,
                        "Use a parameter of the method. Compile with -parameters, so that parameters have names.");
            }
        }
    }

    /**
     * The class and the method with the types of its parameters, as an error calls it.
     *
     * @param method with an annotation
     * @return such as {@code Shop.sell(long)}
     */
    public static String nameOf(Method method) {
        return Arrays.stream(method.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(
                        ", ", method.getDeclaringClass().getSimpleName() + "." + method.getName() + "(", ")"));
    }

    private static List<String> variablesOf(SpelNode node, List<String> found) {
        if (node instanceof VariableReference variable) {
            found.add(variable.toStringAST().substring(1));
        }
        for (int at = 0; at < node.getChildCount(); at++) {
            variablesOf(node.getChild(at), found);
        }
        return found;
    }

    /**
     * What it yields, as text.
     *
     * @param context of the call
     * @return {@code null} for null
     * @throws IllegalArgumentException for an object whose text an equal one need not have, such as its address
     */
    public @Nullable String text(EvaluationContext context) {
        Object value = evaluate(context);
        try {
            return value == null ? null : KeyText.of(value);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(this + " yields " + wrong.getMessage(), wrong);
        }
    }

    /**
     * What it yields, as a whole number.
     *
     * @param context of the call
     * @return the number
     */
    public long number(EvaluationContext context) {
        Object value = evaluate(context);
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        try {
            if (value instanceof CharSequence text) {
                return Long.parseLong(text.toString());
            }
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException(where + " yields a text that is no whole number", wrong);
        }
        String given = value == null ? "null" : value.getClass().getName();
        throw new IllegalArgumentException(where + " must yield a whole number, and not " + given);
    }

    /**
     * What it yields, as a truth.
     *
     * @param context of the call
     * @return the truth
     */
    public boolean isTrue(EvaluationContext context) {
        if (evaluate(context) instanceof Boolean truth) {
            return truth;
        }
        throw new IllegalArgumentException(where + " must yield true or false");
    }

    private @Nullable Object evaluate(EvaluationContext context) {
        try {
            return parsed.getValue(context);
        } catch (EvaluationException failed) {
            throw new IllegalStateException(this + " failed: " + failed.getSimpleMessage(), failed);
        }
    }

    /** Where it stands, and what it is. */
    @Override
    public String toString() {
        return where + " \"" + parsed.getExpressionString() + "\"";
    }
}
