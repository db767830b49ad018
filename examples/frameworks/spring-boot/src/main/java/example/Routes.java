package example;

import org.libdlock.spring.RateLimited;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Without a key each client address has its own tokens; with one of null all requests share them. */
@RestController
class Routes {
    @GetMapping("/")
    String free() {
        return "ok";
    }

    @GetMapping("/limited")
    @RateLimited("demo")
    String limited() {
        return "ok";
    }

    @GetMapping("/together")
    @RateLimited(value = "together", key = "null")
    String together() {
        return "ok";
    }

    @GetMapping("/user")
    @RateLimited(value = "user", key = "getHeader('X-User')")
    String user() {
        return "ok";
    }

    @GetMapping("/cost")
    @RateLimited(value = "cost", key = "null", cost = "getParameter('n') ?: 1")
    String cost() {
        return "ok";
    }

    @GetMapping("/faulty")
    @RateLimited(value = "faulty", key = "T(java.util.Objects).requireNonNull(getHeader('X-Missing'))")
    String faulty() {
        return "ok";
    }

    @GetMapping("/both")
    @RateLimited(value = "outer", key = "null")
    @RateLimited(value = "inner", key = "null")
    String both() {
        return "ok";
    }

    @GetMapping("/skip")
    @RateLimited(value = "skip", key = "null", skip = "getHeader('X-Skip') == 'yes'")
    String skip() {
        return "ok";
    }
}
