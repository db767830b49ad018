package org.libdlock.support;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** The programs that the pages of docs/java show. */
public final class Programs {
    private static final Pattern PROGRAM = Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);

    private Programs() {}

    public static Path folder() {
        return Path.of(System.getProperty("root"), "docs/java");
    }

    public static List<String> of(String page) throws IOException {
        String text = Files.readString(folder().resolve(page));
        return PROGRAM.matcher(text).results().map(found -> found.group(1)).collect(Collectors.toList());
    }

    /** Compiles one, with the class path of the test, into an empty folder; what the compiler said, which is nothing if all is well. */
    public static String compile(String program, Path folder) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (var files = compiler.getStandardFileManager(null, null, null)) {
            Path file = Files.writeString(folder.resolve("Page.java"), program);
            StringWriter said = new StringWriter();
            List<String> options = List.of("-d", folder.toString(), "-parameters", "-proc:none");
            boolean isGood = compiler.getTask(said, files, null, options, null, files.getJavaFileObjects(file))
                    .call();
            return isGood ? "" : "not compiled: " + said;
        }
    }
}
