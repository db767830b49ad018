package org.libdlock.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Loads the native library: out of the jar into a file, because a library can only be loaded from a file. Through the class loader's
 * stream, so that a jar inside a jar will do. The file is gone again as soon as it is loaded.
 */
public final class Library {
    /** The system property that names the folder for the file; the JVM's own temporary folder without it. */
    public static final String FOLDER = "org.libdlock.native.dir";

    private static boolean loaded;
    private static @Nullable String failure;

    private Library() {}

    /**
     * Loads it, once.
     *
     * @throws UnsatisfiedLinkError every time when it is not possible, saying why
     */
    public static synchronized void load() {
        if (loaded) {
            return;
        }
        if (failure == null) {
            failure = tryToLoad(platform(System.getProperty("os.name", "?"), System.getProperty("os.arch", "?")));
        }
        if (failure != null) {
            throw new UnsatisfiedLinkError(failure);
        }
        loaded = true;
    }

    /** Operating system and processor, as the folders in the jar are called. */
    static String platform(String os, String arch) {
        String system = os.toLowerCase(Locale.ROOT).replace(" ", "");
        String processor =
                switch (arch.toLowerCase(Locale.ROOT)) {
                    case "amd64", "x86_64" -> "x86_64";
                    case "aarch64", "arm64" -> "aarch64";
                    default -> arch.toLowerCase(Locale.ROOT);
                };
        return system + "-" + processor;
    }

    /** Beside our package, wherever that was moved to; or where it was built, when only the classes have been moved. */
    private static @Nullable InputStream find(String file) {
        String here = Library.class.getPackageName();
        String moved = here.substring(0, here.lastIndexOf('.')).replace('.', '/');
        InputStream beside = Library.class.getResourceAsStream("/" + moved + file);
        // In parts, because shading changes what looks like our package.
        return beside != null
                ? beside
                : Library.class.getResourceAsStream(String.join("/", "", "org", "libdlock") + file);
    }

    /** Null, or why not. */
    private static @Nullable String tryToLoad(String platform) {
        String file = "/native/" + platform + "/libdlock_jni.so";
        String given = System.getProperty(FOLDER);
        String folder = given == null ? System.getProperty("java.io.tmpdir", "/tmp") : given;
        try (InputStream library = find(file)) {
            if (library == null) {
                return "libdlock's jar has no native library for " + platform + ", which is what this JVM runs on";
            }
            Path copy = Files.createTempFile(Path.of(folder), "libdlock-", ".so");
            try {
                Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toAbsolutePath().toString());
            } finally {
                // Linux keeps what is loaded; nothing is left behind, not even by a JVM that is killed.
                Files.deleteIfExists(copy);
            }
            return null;
        } catch (IOException | InvalidPathException | UnsatisfiedLinkError error) {
            return "libdlock's native library for " + platform + " cannot be loaded from the folder " + folder
                    + " (it must allow to write and to execute; -D" + FOLDER + "=FOLDER names another): " + error;
        }
    }
}
