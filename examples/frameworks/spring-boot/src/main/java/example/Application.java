package example;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.EnableScheduling;

@SpringBootApplication
@EnableScheduling
public class Application {
    public static void main(String[] arguments) {
        SpringApplication.run(Application.class, arguments);
    }

    @EventListener
    void ready(ApplicationReadyEvent event) {
        System.out.println("listening on " + event.getApplicationContext().getEnvironment().getProperty("server.port"));
    }
}
